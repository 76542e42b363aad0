import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withChecks } from '../../../src/stores/check-orders.ts';
import type { Ledger } from '../../../src/stores/ledger.ts';
import { aCounter, aDraw, someUnits } from '../../helpers/ledger-orders.ts';
import { createMemoryLedger } from '../../helpers/memory-ledger.ts';

const MOST = Number.MAX_SAFE_INTEGER;
const counters = [aCounter({ limit: MOST })];
const cells = { keyId: 'key', name: 'rate', intervalMs: 0.5, burst: 2, want: 1 };
const place = { keyId: 'key', placeId: 'p', limit: 1, expiresInMs: 60_000 };

type Call = (ledger: Ledger) => Promise<unknown>;

const sound: readonly Call[] = [
  (ledger) => ledger.draw(aDraw({ counters, need: 2, want: 2, held: -3 })),
  (ledger) => ledger.draw(aDraw({ counters, need: 0, want: MOST })),
  (ledger) => ledger.charge(someUnits({ counters, units: 0, held: MOST })),
  (ledger) => ledger.giveBack(someUnits({ counters, units: MOST })),
  (ledger) => ledger.takeCells({ ...cells, want: 3 }),
  (ledger) => ledger.takeCells({ ...cells, burst: 1, intervalMs: MOST }),
  (ledger) => ledger.enter(place),
  (ledger) => ledger.stay({ ...place, expiresInMs: 0 }),
];

const unsound: Readonly<Record<string, Call>> = {
  'a draw that wants less than it needs': (ledger) => ledger.draw(aDraw({ counters, need: 2, want: 1 })),
  'a draw that needs less than nothing': (ledger) => ledger.draw(aDraw({ counters, need: -1 })),
  'a draw of half a unit': (ledger) => ledger.draw(aDraw({ counters, want: 1.5 })),
  'a draw beside half a unit': (ledger) => ledger.draw(aDraw({ counters, held: -0.5 })),
  'a draw up to any number': (ledger) => ledger.draw(aDraw({ counters: [aCounter({ limit: Infinity })] })),
  'a charge of less than nothing': (ledger) => ledger.charge(someUnits({ counters, units: -1 })),
  'a charge beside less than nothing': (ledger) => ledger.charge(someUnits({ counters, held: -1 })),
  'less than nothing given back': (ledger) => ledger.giveBack(someUnits({ counters, units: -1 })),
  'no cell': (ledger) => ledger.takeCells({ ...cells, want: 0 }),
  'half a cell': (ledger) => ledger.takeCells({ ...cells, want: 1.5 }),
  'cells of which none ever comes': (ledger) => ledger.takeCells({ ...cells, burst: 0 }),
  'cells of which half a one comes': (ledger) => ledger.takeCells({ ...cells, burst: 1.5 }),
  'cells that come all at once': (ledger) => ledger.takeCells({ ...cells, intervalMs: 0 }),
  'cells that come at no known time': (ledger) => ledger.takeCells({ ...cells, intervalMs: NaN }),
  'cells that come beyond all time': (ledger) => ledger.takeCells({ ...cells, intervalMs: MOST }),
  'a place that is expired': (ledger) => ledger.enter({ ...place, expiresInMs: 0 }),
  'a place that is kept until before now': (ledger) => ledger.stay({ ...place, expiresInMs: -1 }),
  'a place for longer than a minute': (ledger) => ledger.enter({ ...place, expiresInMs: 60_001 }),
  'a place that is kept for longer than a minute': (ledger) => ledger.stay({ ...place, expiresInMs: 60_001 }),
};

test('what can be counted reaches the store', async () => {
  const { ledger, asked } = aLedger();
  for (const call of sound) await call(ledger);
  assert.equal(asked(), sound.length);
});

for (const [what, call] of Object.entries(unsound)) {
  test(`${what} is refused before it reaches the store`, async () => {
    const { ledger, asked } = aLedger();
    await assert.rejects(call(ledger), RangeError);
    assert.equal(asked(), 0);
  });
}

function aLedger(): { ledger: Ledger; asked: () => number } {
  let asked = 0;
  const before = (): void => void (asked += 1);
  return { ledger: withChecks(createMemoryLedger({ now: Date.now, before })), asked: () => asked };
}
