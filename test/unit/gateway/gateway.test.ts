import { join } from 'node:path';
import { test } from 'node:test';
import { stringify } from 'yaml';
import type { Config } from '../../../src/config/config.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { startGateway } from '../../../src/gateway/gateway.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { collectGarbage } from '../../helpers/collect-garbage.ts';
import { writeTemporary } from '../../helpers/config-file.ts';
import { until } from '../../helpers/poll.ts';
import { baseConfig, overlay } from '../../helpers/start-gateway.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

test('a configuration that is in force no more is not kept, whatever was taken over from it', async (t) => {
  const folder = tempFolder(t);
  const store = `sqlite:${join(folder, 'g.db')}`;
  const configWith = (connections: number): Config => {
    const upstreams = { recognition: { connections }, other: { targets: ['http://127.0.0.1:9'] } };
    const yaml = overlay(baseConfig('http://127.0.0.1:9', folder), { store, upstreams });
    return loadConfig(writeTemporary(t, stringify(yaml)), {});
  };
  const logger = createLogger('silent', { write: () => undefined });
  const gateway = await startGateway(configWith(1), logger);
  t.after(() => gateway.drain(0));
  const gone = [2, 3].map((connections) => {
    const config = configWith(connections);
    gateway.reload(config);
    return new WeakRef(config.routes);
  });
  gateway.reload(configWith(4));
  await until(() => {
    collectGarbage();
    return gone.every((routes) => routes.deref() === undefined);
  });
});
