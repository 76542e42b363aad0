import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { leadRequests } from '../../../src/admin/client-connections.ts';
import { countRequests } from '../../helpers/count-requests.ts';
import { until } from '../../helpers/poll.ts';
import { openRaw } from '../../helpers/raw-socket.ts';

test('of a thousand requests in one go nothing is made once their connection is ended', async (t) => {
  const made = countRequests(t);
  const server = createServer();
  leadRequests(server, () => undefined);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const raw = await openRaw(t, (server.address() as AddressInfo).port);
  raw.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(1000));
  await until(() => raw.closed);
  assert.equal(made(), 17);
});
