import { createServer } from 'node:http';

// The least that a refusal can cost in Node: the same answer to everyone, without looking.
const body = '{"error":"API key is required"}';
const headers = { 'Content-Type': 'application/json', 'Content-Length': body.length };
createServer((_req, res) => {
  res.writeHead(401, headers);
  res.end(body);
}).listen(Number(process.env.BENCH_PORT), '127.0.0.1');
