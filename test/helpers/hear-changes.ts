import type { TestContext } from 'node:test';
import type { KeyEvent, KeyStore } from '../../src/stores/key-store.ts';
import { until } from './poll.ts';

/** What a store tells of its keys, from after its first reading, which only says that all before it was missed. */
export async function hearChanges(t: TestContext, keys: Pick<KeyStore, 'watch'>): Promise<KeyEvent[]> {
  const heard: KeyEvent[] = [];
  t.after(keys.watch((event) => heard.push(event)));
  await until(() => heard.length > 0);
  heard.length = 0;
  return heard;
}
