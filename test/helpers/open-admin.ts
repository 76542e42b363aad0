import { join } from 'node:path';
import { listenAdmin } from '../../src/admin/admin.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { openStore } from '../../src/stores/open-store.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import { writeTemporary } from './config-file.ts';
import type { Scene } from './poll.ts';
import { tempFolder } from './temp-folder.ts';

/** The token of most that are opened here. */
export const adminToken = 'a-token-of-enough-letters';
/** What stands beside `admin` in the configuration. */
export const emptyConfig = `plans: { free: {} }
upstreams: { a: { targets: ["http://127.0.0.1:9000"] } }
routes: [{ path: /x, methods: [GET], upstream: a }]
`;

/** Why it is never ready. */
export const away = 'the store does not answer';

/**
 * Opens the second listener alone, in this process, on an empty store; `admin` is its part of the configuration, and `before` is
 * waited for at each call to the store.
 */
export async function openAdmin(t: Scene, admin: string, before = async (): Promise<void> => undefined) {
  const read = (text: string) => loadConfig(writeTemporary(t, `admin: ${admin}\n${text}`), {});
  const present = { config: read(emptyConfig) };
  const { config } = present;
  const store = await openStore({ kind: 'sqlite', path: join(tempFolder(t), 'g.db') });
  const keys = new Proxy(store.keys, {
    get:
      (target, name) =>
      async (...details: unknown[]) => {
        await before();
        const call = Reflect.get(target, name) as (...given: unknown[]) => unknown;
        return Reflect.apply(call, target, details);
      },
  });
  const printed = { pages: 0 };
  const lines: string[] = [];
  const listener = await listenAdmin(
    {
      configInForce: () => present.config,
      store: config.admin.tokens.length === 0 ? undefined : { keys, ledger: store.ledger },
      logger: createLogger('info', { write: (line) => void lines.push(line) }),
      readiness: { check: async () => ({ ready: false, readyWithoutStore: true, reasons: [away] }) },
      metrics: {
        contentType: 'text/plain; version=0.0.4; charset=utf-8',
        metrics: async () => `numbers ${(printed.pages += 1)}\n`,
      },
    },
    { host: '127.0.0.1', port: 0 },
  );
  t.after(async () => {
    await listener.close();
    await store.close();
  });
  const url = `http://127.0.0.1:${listener.address.port}`;
  const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
    fetch(url + path, { headers });
  const reload = (text: string): void => {
    present.config = read(text);
  };
  const makeKey = () => {
    const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' };
    return fetch(`${url}/v1/keys`, { method: 'POST', headers, body: '{"plan":"free"}' });
  };
  const told = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  return { url, get, listener, printed, lines, told, reload, makeKey };
}
