import { createServer } from 'node:http';

// Stands behind everything where nginx is not installed, and always behind uploads, which it reads to the end.
const name = Buffer.from('{"gender":"female","probability":0.98}');
const big = Buffer.alloc(1024 * 1024, 'x');
createServer((req, res) => {
  req.resume();
  const body = req.url.endsWith('/big') ? big : name;
  const answer = () => {
    res.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': body.length });
    res.end(body);
  };
  if (req.url.endsWith('/voice')) req.on('end', answer);
  else answer();
}).listen(Number(process.env.BENCH_PORT), '127.0.0.1');
