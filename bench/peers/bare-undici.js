import { createServer } from 'node:http';
import { Pool } from 'undici';

// Nothing but the passing on: no key, no check, no quota, no log. What Node itself costs, which nothing in Node can beat.
const pools = {
  upstream: new Pool(process.env.BENCH_UPSTREAM, { connections: 256, pipelining: 1 }),
  sink: new Pool(process.env.BENCH_SINK, { connections: 256, pipelining: 1 }),
};

function pass(pool, { req, res, body }) {
  const { method, url: path } = req;
  const headers = [];
  for (let i = 0; i < req.rawHeaders.length; i += 2) {
    const name = req.rawHeaders[i].toLowerCase();
    if (name !== 'connection') headers.push(name, req.rawHeaders[i + 1]);
  }
  pool.dispatch(
    { method, path, headers, body },
    {
      onRequestStart() {},
      onResponseStart(controller, status, _headers, _message) {
        const raw = controller.rawHeaders ?? [];
        const out = [];
        for (let i = 0; i < raw.length; i += 2) {
          const name = raw[i].toString();
          if (name.toLowerCase() !== 'connection') out.push(name, raw[i + 1].toString());
        }
        res.writeHead(status, out);
      },
      onResponseData(controller, chunk) {
        if (res.write(chunk) || res.destroyed) return; // whoever has left will never drain
        controller.pause();
        res.once('drain', () => controller.resume());
      },
      onResponseEnd() {
        res.end();
      },
      onResponseError() {
        if (!res.headersSent) res.writeHead(502);
        res.end();
      },
    },
  );
}

createServer((req, res) => {
  if (Number(req.headers['content-length'] ?? 0) > 65_536) {
    pass(pools.sink, { req, res, body: req });
    return;
  }
  const chunks = [];
  req.on('data', (chunk) => chunks.push(chunk));
  req.on('end', () => {
    const body = chunks.length === 0 ? null : chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
    pass(pools.upstream, { req, res, body });
  });
}).listen(Number(process.env.BENCH_PORT), '127.0.0.1');
