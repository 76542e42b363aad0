import { Agent, createServer } from 'node:http';
import httpProxy from 'http-proxy';

const agent = new Agent({ keepAlive: true, maxSockets: 256 });
const proxy = httpProxy.createProxyServer({ agent });
proxy.on('error', (_error, _req, res) => res.destroy());

createServer((req, res) => {
  const large = Number(req.headers['content-length'] ?? 0) > 65_536;
  proxy.web(req, res, { target: large ? process.env.BENCH_SINK : process.env.BENCH_UPSTREAM });
}).listen(Number(process.env.BENCH_PORT), '127.0.0.1');
