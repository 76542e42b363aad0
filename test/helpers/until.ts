import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';

/** Polls until the condition holds, and fails when it does not within the time. */
export async function until(condition: () => boolean | Promise<boolean>, withinMs = 10_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await condition())) {
    assert.ok(performance.now() < deadline, `still not so after ${withinMs} ms: ${condition.toString()}`);
    await delay(2);
  }
}
