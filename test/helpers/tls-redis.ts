import { connect, type Socket } from 'node:net';
import { createServer, type TlsOptions } from 'node:tls';
import type { Certificate } from './certificates.ts';
import { listen } from './listen.ts';
import type { Scene } from './poll.ts';
import { startRedisServer } from './redis-server.ts';

/** A Redis behind TLS. Another certificate that it presents ends the connections that it has. */
export async function startTlsRedis(t: Scene, certificate: Certificate & Pick<TlsOptions, 'SNICallback'>) {
  const redis = await startRedisServer(t);
  const tls = createServer(certificate);
  const clients = new Set<Socket>();
  const cut = (): void => clients.forEach((client) => client.destroy());
  tls.on('secureConnection', (client) => {
    const upstream = connect(redis.port, '127.0.0.1');
    upstream.pipe(client).pipe(upstream);
    for (const socket of [client, upstream]) socket.on('error', () => socket.destroy());
    clients.add(client);
  });
  t.after(cut);
  const port = await listen(t, tls);
  return {
    port,
    url: `rediss://127.0.0.1:${port}`,
    present(other: Certificate) {
      tls.setSecureContext(other);
      cut();
    },
  };
}
