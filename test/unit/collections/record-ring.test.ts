import assert from 'node:assert/strict';
import { test } from 'node:test';
import { array, assert as check, constantFrom, nat, oneof, property, record, string } from 'fast-check';
import { RecordRing } from '../../../src/collections/record-ring.ts';

/** What each record takes beside its text. */
const headBytes = 36;
const bounds = { recordsMax: 4, bytesMax: 300 };

/**
 * Digests of which many want the same place in the table: its eight slots are chosen by the first byte. The last is the first but for
 * one bit: a key must never be taken for one that begins alike.
 */
const digests = [
  ...['00', '01', '08', '10', '07', '0f', 'ff'].map((start) => start.padEnd(64, 'a')),
  `${'00'.padEnd(63, 'a')}b`,
];
const digest = constantFrom(...digests);
const text = oneof(
  { weight: 8, arbitrary: string({ unit: 'grapheme', maxLength: 30 }) },
  { weight: 1, arbitrary: nat(bounds.bytesMax + 20).map((length) => 'x'.repeat(length)) },
);
const steps = array(
  oneof(
    { weight: 6, arbitrary: record({ digest, text }) },
    { weight: 2, arbitrary: record({ digest }) },
    { weight: 1, arbitrary: record({ letter: constantFrom('x', 'a', ' ') }) },
  ),
  { maxLength: 60, size: 'max' },
);

test('it gives what was set last, and forgets the oldest alone', () => {
  check(
    property(steps, (all) => {
      const ring = new RecordRing(bounds);
      const present = new Map<string, string>();
      /** What was ever written, the newest first. */
      const written: { readonly digest: string; readonly text: string; readonly bytes: number }[] = [];
      for (const step of all) {
        if ('letter' in step) {
          ring.deleteWhere((start) => start.startsWith(step.letter));
          for (const [one, kept] of present) if (kept.startsWith(step.letter)) present.delete(one);
        } else if ('text' in step) {
          const bytes = headBytes + Buffer.byteLength(step.text);
          ring.set(step.digest, step.text);
          present.delete(step.digest);
          if (bytes <= bounds.bytesMax) {
            present.set(step.digest, step.text);
            written.unshift({ ...step, bytes });
          }
        } else {
          ring.delete(step.digest);
          present.delete(step.digest);
        }
        for (const one of digests) {
          const kept = ring.get(one);
          assert.ok(kept === undefined || kept === present.get(one), `${one} ${kept}`);
        }
        for (const one of surelyKept(written)) assert.equal(ring.get(one), present.get(one));
        for (const one of present.keys()) if (ring.get(one) === undefined) present.delete(one);
        assert.ok(present.size <= bounds.recordsMax);
      }
    }),
    { numRuns: 300 },
  );
});

/** The newest for which there is room, though a lap ends early where a record would be split. */
function surelyKept(written: readonly { readonly digest: string; readonly bytes: number }[]): string[] {
  const kept: string[] = [];
  let bytes = 0;
  let largest = 0;
  for (const one of written) {
    largest = Math.max(largest, one.bytes);
    bytes += one.bytes;
    if (kept.length > 0 && (bytes + largest > bounds.bytesMax || kept.length === bounds.recordsMax)) break;
    kept.push(one.digest);
  }
  return kept;
}

test('what is no digest is refused, and takes the place of no other', () => {
  const ring = new RecordRing(bounds);
  ring.set('0'.repeat(64), 'here');
  for (const word of ['', 'zz', '0'.repeat(62)]) assert.throws(() => ring.get(word), RangeError);
  assert.equal(ring.get('0'.repeat(64)), 'here');
});
