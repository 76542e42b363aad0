import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until, type Scene } from './poll.ts';
import { startRedisServer, type RedisServer } from './redis-server.ts';
import { tempFolder } from './temp-folder.ts';

/** A master, its replica and a sentinel that watches them. */
export interface RedisSentinel {
  readonly url: string;
  readonly master: RedisServer;
  readonly replica: RedisServer;
  readonly sentinel: RedisServer;
}

/**
 * Starts all three and waits until the sentinel knows the replica, and the replica all of the data. By default no silence is taken for a
 * death: a server that waits for a processor is silent too.
 */
export async function startRedisSentinel(t: Scene, { downAfterMs = 60_000 } = {}): Promise<RedisSentinel> {
  const master = await startRedisServer(t, { args: ['--repl-diskless-sync-delay', '0'] });
  const replica = await startRedisServer(t, { args: ['--replicaof', '127.0.0.1', String(master.port)] });
  const folder = tempFolder(t);
  const sentinel = await startRedisServer(t, {
    commandLine(port) {
      const file = join(folder, 'sentinel.conf');
      const lines = [
        `port ${port}`,
        'bind 127.0.0.1',
        `dir ${folder}`,
        `sentinel monitor main 127.0.0.1 ${master.port} 1`,
        `sentinel down-after-milliseconds main ${downAfterMs}`,
        'sentinel failover-timeout main 2000',
      ];
      writeFileSync(file, lines.join('\n'));
      return [file, '--sentinel'];
    },
  });
  await master.say('SET', 'replicated', 'yes');
  // The link is up before the master sends what is written: it waits for a first acknowledgement, up to a second.
  await until(async () => (await replica.say('GET', 'replicated')).includes('yes'));
  await until(async () =>
    (await sentinel.say('SENTINEL', 'replicas', 'main')).includes(String(replica.port)),
  );
  return { url: `redis+sentinel://127.0.0.1:${sentinel.port}/main`, master, replica, sentinel };
}
