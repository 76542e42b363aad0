import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { TestContext } from 'node:test';

/** Counts the requests that servers of this process make of what they read, handled or not. */
export function countRequests(t: TestContext): () => number {
  let made = 0;
  const count = (): void => void (made += 1);
  subscribe('http.server.request.start', count);
  t.after(() => unsubscribe('http.server.request.start', count));
  return () => made;
}
