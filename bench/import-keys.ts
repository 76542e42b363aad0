import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { CannotRun } from './cannot-run.ts';
import { secretOf } from './gateway-yaml.ts';
import { main } from './machine.ts';
import { runToEnd } from './processes.ts';
import type { Surroundings } from './surroundings.ts';

const batchKeys = 10_000;

/** Puts the keys that the load knows into the store of a configuration, as a user would. */
export async function importKeys(config: string, { folder, keys }: Surroundings): Promise<void> {
  const file = join(folder, 'keys.jsonl');
  const out = openSync(file, 'w');
  for (let from = 0; from < keys; from += batchKeys) {
    const batch = Array.from({ length: Math.min(batchKeys, keys - from) }, (_, n) =>
      JSON.stringify({ secret: secretOf(from + n), plan: 'bench' }),
    );
    writeSync(out, `${batch.join('\n')}\n`);
  }
  closeSync(out);
  const args = [main, 'keys', 'import', file, '--config', config, '--quiet'];
  const { status, stderr } = await runToEnd(process.execPath, args, { cwd: folder });
  if (status !== 0)
    throw new CannotRun(`the keys could not be imported (${stderr.trim().split('\n')[0] ?? ''})`);
}
