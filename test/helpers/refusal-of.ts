import assert from 'node:assert/strict';
import { Refusal } from '../../src/refusals.ts';

/** What is refused, if anything is. */
export function refusalOf(act: () => unknown): Refusal | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error));
    return error;
  }
}
