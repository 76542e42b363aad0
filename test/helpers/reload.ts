import { readFile, writeFile } from 'node:fs/promises';
import { parse, stringify } from 'yaml';
import { until } from './poll.ts';
import { overlay, type Gateway, type Yaml } from './start-gateway.ts';

/** How the log begins to say what came of a reload. */
export const taken = 'the configuration was reloaded';
export const refused = 'the reload is refused';

/** Lays something over the file, or puts a whole text in its place, has it read anew, and resolves when that has come of it. */
export async function reload(gateway: Gateway, change: Yaml | string, outcome = taken): Promise<void> {
  const before = countLines(gateway, outcome);
  const written: Yaml = parse(await readFile(gateway.configFile, 'utf8'));
  const text = typeof change === 'string' ? change : stringify(overlay(written, change));
  await writeFile(gateway.configFile, text);
  gateway.child.kill('SIGHUP');
  await until(() => countLines(gateway, outcome) > before, { what: outcome });
}

/** How many lines of the log begin with this. */
export function countLines(gateway: Gateway, beginning: string): number {
  return gateway.logs().filter(({ msg }) => String(msg).startsWith(beginning)).length;
}
