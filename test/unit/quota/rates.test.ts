import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RateRule } from '../../../src/config/plan-rule.ts';
import { Rates } from '../../../src/quota/rates.ts';
import { StoreUnavailable } from '../../../src/stores/store-unavailable.ts';
import { createLedgerScene } from '../../helpers/ledger-scene.ts';
import { settle as runReady } from '../../helpers/turnable-clock.ts';

const slow: RateRule = { limit: 10, perMs: 1000, burst: 2 };
const fast: RateRule = { limit: 1000, perMs: 1000, burst: 100 };

/** The rates of one process, with the store and the clock that they have. */
function openRates() {
  const scene = createLedgerScene();
  return { ...scene, rates: new Rates(scene.options) };
}

async function take(rates: Rates, rule: RateRule) {
  return await rates.take('ada', rule);
}

test('a low rate asks for each request and denies exactly until the next cell', async () => {
  const { rates, clock, ledger } = openRates();
  const rule = { ...slow, burst: 3 };
  for (let turn = 0; turn < 3; turn += 1) assert.equal((await take(rates, rule)).kind, 'cell');
  const denied = await take(rates, rule);
  assert.ok(denied.kind === 'too_fast');
  assert.equal(denied.retryInMs, 100);
  await clock.pass(99);
  const again = await take(rates, rule);
  assert.ok(again.kind === 'too_fast');
  assert.equal(again.retryInMs, 1);
  assert.equal(ledger.calls.get('takeCells'), 4, 'hammering does not reach the store');
  await clock.pass(1);
  assert.equal((await take(rates, rule)).kind, 'cell');
});

/** Calls once a millisecond, until cells are drawn ahead. */
async function warmUp(rates: Rates, { clock }: Pick<ReturnType<typeof createLedgerScene>, 'clock'>) {
  for (let tick = 0; tick < 300; tick += 1) {
    await take(rates, fast);
    await clock.pass(1);
  }
}

test('what is told of a rate is its window to the second, whatever it divides to', async () => {
  const { rates } = openRates();
  for (let limit = 1; limit <= 60; limit += 1) {
    const answer = await rates.take(`limit-${limit}`, { limit, perMs: 1000, burst: limit });
    assert.equal(answer.reading.windowSeconds, 1, `${limit} per second`);
    assert.equal(answer.reading.resetInSeconds, 1);
  }
});

test('when another cell is free, and when all of the burst, is told in full seconds, of a refusal too', async () => {
  const { rates } = openRates();
  const rule: RateRule = { limit: 2, perMs: 3000, burst: 3 };
  const told = [];
  for (let turn = 0; turn < 4; turn += 1) {
    const { reading } = await take(rates, rule);
    told.push([reading.remaining, reading.nextInSeconds, reading.resetInSeconds, reading.windowSeconds]);
  }
  assert.deepEqual(told, [
    [2, 0, 2, 5],
    [1, 0, 3, 5],
    [0, 2, 5, 5],
    [0, 2, 5, 5],
  ]);
});

test('what is known of a key is kept for as long as it is true', async () => {
  const { rates, clock, ledger } = openRates();
  const hourly: RateRule = { limit: 1, perMs: 3_600_000, burst: 1 };
  await rates.take('denied', hourly);
  await clock.pass(900);
  await rates.take('denied', hourly);
  await clock.pass(90);
  await rates.take('held', hourly);
  rates.putBack('held', hourly);
  const calls = ledger.calls.get('takeCells');
  await clock.pass(20);
  const answers = ['denied', 'held'].map(async (keyId) => rates.take(keyId, hourly));
  assert.deepEqual(
    (await Promise.all(answers)).map(({ kind }) => kind),
    ['too_fast', 'cell'],
  );
  assert.equal(ledger.calls.get('takeCells'), calls);
  await clock.pass(3000);
  assert.equal(rates.size, 0);
});

test('a fast key draws cells for about 20 ms ahead, and they are served without a promise', async () => {
  const { rates, ...scene } = openRates();
  await warmUp(rates, scene);
  const before = scene.ledger.calls.get('takeCells') ?? 0;
  let waited = 0;
  for (let tick = 0; tick < 200; tick += 1) {
    const answer = rates.take('ada', fast);
    if (answer instanceof Promise) waited += 1;
    await answer;
    await scene.clock.pass(1);
  }
  const calls = (scene.ledger.calls.get('takeCells') ?? 0) - before;
  assert.equal(calls, waited);
  assert.ok(calls <= 15, `${calls} calls for 200 requests`);
});

test('of a fast rate nothing is drawn ahead for a key that comes seldom here: others may need it', async () => {
  const { clock, options } = createLedgerScene();
  const rule: RateRule = { limit: 100, perMs: 1000, burst: 100 };
  const all = Array.from({ length: 8 }, () => new Rates(options));
  let refused = 0;
  for (let turn = 0; turn < 200; turn += 1) {
    for (const rates of all) if ((await take(rates, rule)).kind !== 'cell') refused += 1;
    await clock.pass(100); // eight of these make 80 a second
  }
  assert.equal(refused, 0);
});

test('cells older than 50 ms are thrown away, not spent', async () => {
  const { rates, ...scene } = openRates();
  await warmUp(rates, scene);
  while (rates.take('ada', fast) instanceof Promise) await runReady();
  const before = scene.ledger.calls.get('takeCells') ?? 0;
  await scene.clock.pass(51);
  await take(rates, fast);
  assert.equal(scene.ledger.calls.get('takeCells'), before + 1);
});

test('cells that have grown old are not spent either where the store has none', async () => {
  const { clock, options } = createLedgerScene();
  const [rates, others] = [new Rates(options), new Rates(options)];
  await take(rates, slow);
  rates.putBack('ada', slow);
  await clock.pass(51);
  await take(others, slow);
  for (const { kind, reading } of [await take(rates, slow), await take(rates, slow)])
    assert.deepEqual([kind, reading.remaining], ['too_fast', 0]);
});

for (const processes of [1, 3]) {
  test(`over ${processes} processes no window holds more than the burst and what the rate adds`, async () => {
    const { clock, options } = createLedgerScene();
    const all = Array.from({ length: processes }, () => new Rates(options));
    let passed = 0;
    for (let tick = 0; tick < 500; tick += 1) {
      for (const rates of all) {
        for (let count = 0; count < 3; count += 1) if ((await take(rates, fast)).kind === 'cell') passed += 1;
      }
      await clock.pass(1);
    }
    assert.ok(passed <= 100 + 500 + 50 * 1, `${passed} passed`);
    assert.ok(passed >= 480, `${passed} passed`);
  });
}

test('simultaneous requests of a key share one call, and those that exceed the burst are denied', async () => {
  const { rates, clock, ledger, weather } = openRates();
  weather.takesMs = 5;
  const rule = { ...slow, limit: 3 };
  const answers = Array.from({ length: 50 }, () => take(rates, rule));
  assert.equal(ledger.calls.get('takeCells'), 1);
  await clock.pass(50);
  const told = (await Promise.all(answers)).map((one) => (one.kind === 'cell' ? one.kind : one.retryInMs));
  assert.deepEqual(told, ['cell', 'cell', ...Array.from({ length: 48 }, () => 334)]);
  assert.ok((ledger.calls.get('takeCells') ?? 0) <= 3);
});

/** How many come to a store that is 60 ms away, turn by turn, and how many of them pass. */
async function comeFromAfar(
  rule: RateRule,
  { turns, everyMs, inTurn }: { turns: number; everyMs: number; inTurn: (turn: number) => number },
) {
  const { rates, clock, ledger, weather } = openRates();
  weather.takesMs = 60;
  const answers: ReturnType<typeof take>[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    for (let count = inTurn(turn); count > 0; count -= 1) answers.push(take(rates, rule));
    await clock.pass(everyMs);
  }
  await clock.pass(1000);
  const passed = (await Promise.all(answers)).filter(({ kind }) => kind === 'cell').length;
  return { came: answers.length, passed, calls: ledger.calls.get('takeCells') ?? 0 };
}

test('who is faster than the rate is told so also by a store so far away that cells grow meanwhile', async () => {
  const far: RateRule = { limit: 50, perMs: 1000, burst: 5 };
  const { passed } = await comeFromAfar(far, { turns: 200, everyMs: 10, inTurn: () => 1 });
  assert.ok(passed > 90 && passed <= 105, `${passed} passed in two seconds`);
});

for (const burst of [1, 2, 3, 10, 100]) {
  test(`who keeps the rate is not refused by a store that is far away, with a burst of ${burst}`, async () => {
    const far: RateRule = { limit: 100, perMs: 1000, burst };
    const { passed } = await comeFromAfar(far, { turns: 150, everyMs: 11, inTurn: () => 1 });
    assert.equal(passed, 150);
  });
}

for (const burst of [1, 10]) {
  test(`a flood over a burst of ${burst} passes as the rate says and asks a far store no more often than cells grow`, async () => {
    const far: RateRule = { limit: 100, perMs: 1000, burst };
    const { passed, calls } = await comeFromAfar(far, { turns: 2000, everyMs: 1, inTurn: () => 3 });
    assert.ok(passed >= 190 && passed <= 200 + burst, `${passed} passed in two seconds`);
    assert.ok(calls <= 1 + (2 * 200) / burst, `${calls} calls`);
  });
}

test('who came while another was told no is told so with him, as long as that is true', async () => {
  const { rates, clock, ledger, options, weather } = openRates();
  const single: RateRule = { ...slow, burst: 1 };
  await take(rates, single);
  weather.takesMs = 5;
  const together = [take(rates, single), take(rates, single), take(rates, single)];
  await clock.pass(5);
  assert.deepEqual(
    (await Promise.all(together)).map((answer) => answer.kind === 'too_fast' && answer.retryInMs),
    [95, 95, 95],
  );
  assert.equal(ledger.calls.get('takeCells'), 2);

  // From far away the answer comes when the cell it speaks of is free already, and another process has not taken it.
  weather.takesMs = 60;
  const quick: RateRule = { limit: 50, perMs: 1000, burst: 1 };
  const other = new Rates(options).take('bob', quick);
  await clock.pass(1);
  const denied = rates.take('bob', quick);
  await clock.pass(1);
  const asksLater = rates.take('bob', quick);
  await clock.pass(200);
  assert.deepEqual(
    (await Promise.all([other, denied, asksLater])).map(({ kind }) => kind),
    ['cell', 'too_fast', 'cell'],
  );
});

for (const [name, broken, told] of [
  ['the store failed another', new StoreUnavailable('gone', { mayHaveHappened: false }), []],
  ['the program failed another, which is told', new TypeError('a bug'), [TypeError]],
] as const) {
  test(`who came while ${name} hears of it with him, and of the same`, async () => {
    const { clock, options, problems } = createLedgerScene();
    const takeCells = async () =>
      new Promise<never>((_, reject) => void clock.after(20, () => reject(broken)));
    const rates = new Rates({ ...options, ledger: { ...options.ledger, takeCells } });
    const heard: unknown[] = [];
    for (let count = 0; count < 3; count += 1) {
      take(rates, slow).catch((error: unknown) => void heard.push(error));
    }
    await clock.pass(20);
    assert.deepEqual(heard, [broken, broken, broken]);
    assert.deepEqual(
      problems.map((problem) => (problem as Error).constructor),
      told,
    );
  });
}

test('a cell that was put back serves who waits for the store already', async () => {
  const { rates, clock, weather } = openRates();
  await take(rates, slow);
  weather.takesMs = 60;
  let answer: string | undefined;
  void take(rates, slow).then(({ kind }) => (answer = kind));
  rates.putBack('ada', slow);
  await clock.pass(1);
  assert.equal(answer, 'cell');
});

test('a cell that comes back late, or for another rate, serves nobody', async () => {
  const { rates, clock } = openRates();
  const edited = { ...slow, burst: 1 };
  await take(rates, edited);
  rates.putBack('ada', slow);
  assert.equal((await take(rates, edited)).kind, 'too_fast');
  await clock.pass(51);
  rates.putBack('ada', edited);
  assert.equal((await take(rates, edited)).kind, 'too_fast');
});

test('a cell that comes back late serves nobody who waits for the store either', async () => {
  const { rates, clock, weather } = openRates();
  const single = { ...slow, burst: 1 };
  await take(rates, single);
  await clock.pass(51);
  weather.takesMs = 10;
  const waiting = take(rates, single);
  rates.putBack('ada', single);
  await clock.pass(20);
  assert.equal((await waiting).kind, 'too_fast');
});

test('an outage rejects, and an idle key leaves nothing behind', async () => {
  const { rates, clock, weather } = openRates();
  weather.refuses = true;
  await assert.rejects(take(rates, slow), StoreUnavailable);
  weather.refuses = false;
  assert.equal((await take(rates, slow)).kind, 'cell');
  await clock.pass(3000);
  assert.equal(rates.size, 0);
  assert.equal(clock.timers, 0);
});

test('no request waits longer than the deadline, also when it came during a call', async () => {
  const { rates, clock, weather } = openRates();
  weather.takesMs = 200;
  const rule = { ...slow, burst: 10 };
  const first = take(rates, rule);
  await clock.pass(1);
  const refused: Error[] = [];
  take(rates, rule).catch((error: Error) => refused.push(error));
  await clock.pass(245);
  assert.equal(refused.length, 0);
  await clock.pass(10);
  assert.ok(refused[0] instanceof StoreUnavailable);
  assert.equal((await first).kind, 'cell');
});

test('requests of one key under two rates, that wait together, are each paced by their own', async () => {
  const { rates, clock, weather } = openRates();
  weather.takesMs = 5;
  const other = { ...fast, burst: 1000 };
  const ask = async (rule: RateRule) =>
    Promise.all(Array.from({ length: 10 }, async () => take(rates, rule)));
  const waiting = [ask(slow), ask(other), ask(slow), ask(other)];
  await clock.pass(100);
  const answers = await Promise.all(waiting);
  const passed = answers.map((line) => line.filter(({ kind }) => kind === 'cell').length);
  assert.deepEqual([passed[0]! + passed[2]!, passed[1], passed[3]], [2, 10, 10]);
  await clock.pass(3000);
  assert.equal(rates.size, 0);
});

test('who is told to wait is told from when the store answered, however long that took', async () => {
  const { rates, clock, weather } = openRates();
  const hourly = { ...slow, limit: 1, perMs: 1000, burst: 1 };
  await take(rates, hourly);
  weather.takesMs = 100;
  const asked = take(rates, hourly);
  await clock.pass(150);
  const told = [await asked, await take(rates, hourly)];
  assert.deepEqual(
    told.map((answer) => answer.kind === 'too_fast' && answer.retryInMs),
    [900, 850],
  );
});

test('an answer tells of the cells that are held here as well', async () => {
  const { rates, ...scene } = openRates();
  await warmUp(rates, scene);
  const left: number[] = [];
  while (left.length < 3) {
    const answer = rates.take('ada', fast);
    if (answer instanceof Promise) left.length = 0;
    left.push((await answer).reading.remaining);
  }
  const [first = 0] = left;
  assert.deepEqual(left, [first, first - 1, first - 2]);
});
