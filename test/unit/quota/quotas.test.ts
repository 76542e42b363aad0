import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Charge, PlanRule } from '../../../src/config/plan-rule.ts';
import type { Grant, Outcome } from '../../../src/quota/grants.ts';
import { type Decision, type QuotaRefusal, Quotas } from '../../../src/quota/quotas.ts';
import { aClient } from '../../helpers/a-client.ts';
import { aPeriod, aPlan, aQuota } from '../../helpers/a-plan.ts';
import { createLedgerScene } from '../../helpers/ledger-scene.ts';
import { settle as runReady } from '../../helpers/turnable-clock.ts';

const may = Date.UTC(2026, 4, 1);
const ok: Outcome = { kind: 'answered', status: 200 };
const unsent: Outcome = { kind: 'unsent' };

/** The quotas of one process, with the store and the clock that they have. */
function openQuotas(start?: number) {
  const scene = createLedgerScene(start);
  return { ...scene, quotas: new Quotas(scene.options) };
}

async function ask(quotas: Quotas, plan: PlanRule, cost = 1): Promise<Decision> {
  return await quotas.reserve({ keyId: 'ada', plan, cost });
}

async function grant(quotas: Quotas, plan: PlanRule, cost = 1): Promise<Grant> {
  const decision = await ask(quotas, plan, cost);
  assert.ok(decision.kind === 'grant');
  return decision;
}

async function refuse(quotas: Quotas, plan: PlanRule, cost = 1): Promise<QuotaRefusal> {
  const decision = await ask(quotas, plan, cost);
  assert.ok(decision.kind === 'refusal');
  return decision;
}

const answered = (status: number): Outcome => ({ kind: 'answered', status });

const charges: readonly [string, Outcome, readonly Charge[]][] = [
  ['refused after it was reserved', unsent, []],
  ['without an answer', { kind: 'unanswered' }, ['forwarded']],
  ['answered 200', ok, ['forwarded', 'answered', 'success']],
  ['upgraded with 101', answered(101), ['forwarded', 'answered', 'success']],
  ['redirected with 304', answered(304), ['forwarded', 'answered', 'success']],
  ['answered 400', answered(400), ['forwarded', 'answered']],
  ['answered 500', answered(500), ['forwarded']],
];

for (const [name, outcome, charged] of charges) {
  for (const charge of ['forwarded', 'answered', 'success'] as const) {
    const units = charged.includes(charge) ? 1 : 0;
    test(`charge ${charge}: a request that was ${name} costs ${units}`, async () => {
      const { quotas, ledger } = openQuotas();
      const given = await grant(quotas, aPlan({ quotas: [aQuota(10)], charge }));
      given.settle(outcome);
      given.settle(ok);
      given.settle(unsent);
      await quotas.drain();
      assert.equal(ledger.used('ada', 'month', may), units);
    });
  }
}

test('a request that never left costs nothing, and frees its place', async () => {
  const { quotas, ledger } = openQuotas();
  const plan = aPlan({ quotas: [aQuota(10)], concurrency: { limit: 1, shared: false } });
  (await grant(quotas, plan)).settle(unsent);
  (await grant(quotas, plan)).settle(unsent);
  await quotas.drain();
  assert.equal(ledger.used('ada', 'month', may), 0);
});

const corrections: readonly [string, number, number][] = [
  ['less', 1, 1],
  ['nothing', 0, 0],
  ['more than the limit', 30, 30],
];

for (const [name, cost, charged] of corrections) {
  test(`an upstream that says ${name} has ${charged} of 3 units charged`, async () => {
    const { quotas, ledger } = openQuotas();
    const given = await grant(quotas, aPlan({ quotas: [aQuota(10)] }), 3);
    given.settle(ok, cost);
    await quotas.drain();
    assert.equal(ledger.used('ada', 'month', may), charged);
  });
}

test('an answer tells what is left, and warns once per period when it is little', async () => {
  const { quotas, clock } = openQuotas(Date.UTC(2026, 4, 31, 23, 59, 50));
  const plan = aPlan({ quotas: [aQuota(5, 'month', { warnAt: 80 })] });
  const notices = [];
  for (let count = 0; count < 5; count += 1) notices.push((await grant(quotas, plan)).describe());
  assert.deepEqual(
    notices.map(({ headers }) => headers['RateLimit']),
    [4, 3, 2, 1, 0].map((left) => `"month";r=${left};t=10`),
  );
  assert.deepEqual(
    notices.map(({ newWarnings }) => newWarnings.length),
    [0, 0, 0, 1, 0],
  );
  assert.deepEqual(
    notices.map(({ headers }) => headers['X-Gatehouse-Quota-Warning']),
    [undefined, undefined, undefined, '"month"', '"month"'],
  );
  assert.equal(notices[0]?.headers['RateLimit-Policy'], '"month";q=5;w=2678400');
  await clock.pass(20_000);
  const june = [];
  for (let count = 0; count < 4; count += 1)
    june.push((await grant(quotas, plan)).describe().newWarnings.length);
  assert.deepEqual(june, [0, 0, 0, 1]);
});

test('a request that took past the end of its period warns of nothing anew', async () => {
  const { quotas, clock } = openQuotas(Date.UTC(2026, 4, 31, 23, 59, 50));
  const plan = aPlan({ quotas: [aQuota(5, 'month', { warnAt: 20 })] });
  const ofMay = [await grant(quotas, plan), await grant(quotas, plan)];
  await clock.pass(20_000);
  let warned = (await grant(quotas, plan)).describe().newWarnings.length;
  assert.equal(warned, 1);
  for (const late of ofMay) {
    await clock.pass(5000);
    warned += late.describe().newWarnings.length;
    warned += (await grant(quotas, plan)).describe().newWarnings.length;
  }
  assert.equal(warned, 1);
});

test('each kind of period warns once, also where plans of one key call their quotas the same', async () => {
  const { quotas } = openQuotas();
  const warned: number[] = [];
  for (const per of ['day', 'month', 'lifetime', 'day', 'month'] as const) {
    // Another plan each time, as after a reload.
    const plan = aPlan({ quotas: [aQuota(100, per, { name: 'calls', warnAt: 1 })] });
    warned.push((await grant(quotas, plan)).describe().newWarnings.length);
  }
  assert.deepEqual(warned, [1, 1, 1, 0, 0]);
});

test('each percentage of a limit warns at its very unit', async () => {
  const { quotas } = openQuotas();
  const firstWarned = async (warnAt: number): Promise<number> => {
    const plan = aPlan({ quotas: [aQuota(100, 'month', { warnAt })] });
    for (let used = 1; used <= 100; used += 1) {
      const decision = await quotas.reserve({ keyId: `percent-${warnAt}`, plan, cost: 1 });
      assert.ok(decision.kind === 'grant');
      if (decision.describe().newWarnings.length > 0) return used;
    }
    return NaN;
  };
  for (let percent = 1; percent <= 100; percent += 1) assert.equal(await firstWarned(percent), percent);
});

test('a request that took long tells what is known when it is answered, though its lease has ended', async () => {
  const { quotas, clock } = openQuotas();
  const plan = aPlan({ quotas: [aQuota(10, 'month', { warnAt: 80 })] });
  const slow = await grant(quotas, plan);
  await clock.pass(5000);
  for (let count = 0; count < 7; count += 1) await grant(quotas, plan);
  const { headers } = slow.describe();
  assert.match(headers['RateLimit'] ?? '', /;r=2;/);
  assert.equal(headers['X-Gatehouse-Quota-Warning'], '"month"');
});

test('an answer tells what is left to the unit, also after units have gone back, of this period and of the one before', async () => {
  const { quotas, clock, ledger } = openQuotas(Date.UTC(2026, 4, 5, 12, 0, 59, 500));
  const plan = aPlan({ quotas: [aQuota(10_000, 'minute')] });
  const ofTheOneBefore = await grant(quotas, plan);
  await clock.pass(600);
  for (let left = 9999; left > 9880; left -= 1) {
    const given = await grant(quotas, plan);
    assert.match(given.describe().headers['RateLimit'] ?? '', new RegExp(`^"minute";r=${left};`));
    given.settle(ok);
    if (left === 9890) ofTheOneBefore.settle(unsent);
    await clock.pass(left > 9890 ? 10 : 200);
  }
  assert.equal(ledger.calls.get('giveBack'), 2);
});

test('an answer after the end of its period tells how that ended, until the store has said something about the next', async () => {
  const { quotas, clock, weather } = openQuotas(Date.UTC(2026, 4, 31, 23, 59, 59, 900));
  const plan = aPlan({ quotas: [aQuota(5, 'month', { warnAt: 20 }), aQuota(9, 'year')] });
  const late = await grant(quotas, plan);
  assert.equal(late.describe().newWarnings.length, 1);
  await clock.pass(150);
  weather.takesMs = 100;
  const next = grant(quotas, plan);
  await runReady();
  const notice = late.describe();
  assert.equal(notice.headers['RateLimit-Policy'], '"month";q=5;w=2678400, "year";q=9;w=31536000');
  assert.match(notice.headers['RateLimit'] ?? '', /^"month";r=4;t=0, "year";r=8;t=\d+$/);
  assert.equal(notice.newWarnings.length, 0);
  await clock.pass(200);
  assert.equal((await next).describe().newWarnings.length, 1);
  assert.match(late.describe().headers['RateLimit'] ?? '', /^"month";r=4;t=\d{7}, "year";r=7;t=\d+$/);
});

test('each quota of a key warns by itself, once', async () => {
  const { quotas } = openQuotas();
  const plan = aPlan({
    quotas: [
      aQuota(5, 'month', { warnAt: 60 }),
      aQuota(5, 'year', { warnAt: 80 }),
      aQuota(5, 'week', { warnAt: 80 }),
      aQuota(5, 'day'),
    ],
  });
  const told: string[][] = [];
  for (let count = 0; count < 5; count += 1) {
    told.push((await grant(quotas, plan)).describe().newWarnings.map(({ name }) => name));
  }
  assert.deepEqual(told, [[], [], ['month'], ['year', 'week'], []]);
});

test('a quota that is overrun in one go warns with the first refusal, and by how much', async () => {
  const { quotas } = openQuotas();
  const plan = aPlan({ quotas: [aQuota(5, 'month', { warnAt: 80 })] });
  const given = await grant(quotas, plan);
  assert.deepEqual(given.describe().newWarnings, []);
  given.settle(ok, 7);
  const refused = [await refuse(quotas, plan), await refuse(quotas, plan)];
  const told = refused.map(({ newWarnings }) =>
    newWarnings.map(({ name, used, remaining }) => [name, used, remaining]),
  );
  assert.deepEqual(told, [[['month', 7, 0]], []]);
});

test('an exhausted quota says when to come back, never earlier than the truth', async () => {
  const { quotas } = openQuotas(Date.UTC(2026, 4, 31, 23, 59, 49) + 1);
  const plan = aPlan({ quotas: [aQuota(1, 'minute'), aQuota(1), aQuota(1000, 'year')] });
  await grant(quotas, plan);
  const refusal = await refuse(quotas, plan);
  assert.equal(refusal.code, 'quota_exhausted');
  assert.equal(refusal.headers['Retry-After'], '11');
  assert.match(
    refusal.headers['RateLimit'] ?? '',
    /^"minute";r=0;t=11, "month";r=0;t=11, "year";r=999;t=\d+$/,
  );
});

test('a store that takes its time makes nobody come back earlier than the truth', async () => {
  const { options, clock, weather } = createLedgerScene(Date.UTC(2026, 4, 5, 12, 0, 49) + 1);
  weather.takesMs = 900;
  const quotas = new Quotas({ ...options, deadlineMs: 2000 });
  const plan = aPlan({ quotas: [aQuota(1, 'minute')] });
  const answers = [ask(quotas, plan), ask(quotas, plan)];
  await clock.pass(2000);
  const refusal = (await Promise.all(answers)).find(({ kind }) => kind === 'refusal');
  assert.ok(refusal?.kind === 'refusal');
  assert.equal(refusal.headers['Retry-After'], '10', 'it was refused at 50.801 s');
  assert.equal(refusal.headers['RateLimit'], '"minute";r=0;t=10');
});

test('a quota that starts again before the rate has another turn says when both let a request pass', async () => {
  const { quotas, clock } = openQuotas(Date.UTC(2026, 4, 31, 23, 59, 55));
  const plan = aPlan({
    quotas: [aQuota(1, 'minute')],
    rate: { limit: 2, perMs: 60_000, burst: 2 },
  });
  await grant(quotas, plan);
  const { code, headers } = await refuse(quotas, plan);
  assert.equal(code, 'quota_exhausted');
  assert.equal(headers['Retry-After'], '30');
  await clock.pass(30_000);
  await grant(quotas, plan);
});

test('the wait for a rate is rounded up to whole seconds', async () => {
  const { quotas } = openQuotas();
  const plan = aPlan({ rate: { limit: 2, perMs: 3000, burst: 1 } });
  await grant(quotas, plan);
  assert.equal((await refuse(quotas, plan)).headers['Retry-After'], '2');
});

test('an exhausted lifetime promises no return', async () => {
  const { quotas } = openQuotas();
  const plan = aPlan({ quotas: [aQuota(1, 'lifetime')] });
  await grant(quotas, plan);
  const refusal = await refuse(quotas, plan);
  assert.equal(refusal.headers['Retry-After'], undefined);
  assert.equal(refusal.headers['RateLimit'], '"lifetime";r=0');
});

test('a dearer request waits for the quota that is too small for it, whoever was turned away before, and in vain for one it never fits', async () => {
  const { quotas } = openQuotas(Date.UTC(2026, 4, 31, 22, 59, 49));
  const plan = aPlan({ quotas: [aQuota(6, 'minute'), aQuota(10, 'day')] });
  for (let count = 0; count < 6; count += 1) await grant(quotas, plan);
  const waits = [1, 5, 1, 7].map(async (cost) => (await refuse(quotas, plan, cost)).headers['Retry-After']);
  assert.deepEqual(await Promise.all(waits), ['11', '3611', '11', undefined]);
});

const rate = { limit: 1, perMs: 1000, burst: 1 };
const concurrency = { limit: 1, shared: false };

test('a refusal undoes what was taken before it: the place and the cell', async () => {
  const { quotas } = openQuotas();
  const quotaless = aPlan({ quotas: [aQuota(0)], rate, concurrency });
  for (let count = 0; count < 3; count += 1) {
    const refusal = await refuse(quotas, quotaless);
    assert.equal(refusal.code, 'quota_exhausted');
  }
  const free = aPlan({ rate, concurrency });
  const given = await grant(quotas, free);
  const full = await refuse(quotas, free);
  assert.equal(full.code, 'too_many_in_flight');
  assert.equal(full.headers['RateLimit'], '"concurrency";r=0');
  given.settle(unsent);
  const tooFast = await refuse(quotas, free);
  assert.equal(tooFast.code, 'rate_exceeded');
  assert.equal(tooFast.headers['Retry-After'], '1');
  const again = await refuse(quotas, free);
  assert.equal(again.code, 'rate_exceeded', 'a refused rate frees the place');
});

test('a quota that cannot be reckoned refuses its requests, and leaves nothing taken', async () => {
  const { quotas } = openQuotas();
  const period = aPeriod('day', 'Nowhere/Atlantis');
  const unknown = aPlan({ quotas: [aQuota(9, 'day', { period })], rate, concurrency });
  for (let count = 0; count < 3; count += 1) {
    const refusal = await refuse(quotas, unknown);
    assert.equal(refusal.code, 'quota_unavailable');
    assert.match(String(refusal.cause), /the time zone Nowhere\/Atlantis of a quota is not known/);
  }
  await grant(quotas, aPlan({ rate, concurrency }));
});

test('a request that costs nothing passes an exhausted quota, and the store is asked for none', async () => {
  const { quotas, ledger } = openQuotas();
  const free = await grant(quotas, aPlan({ quotas: [aQuota(0)] }), 0);
  free.settle(ok, 5);
  await grant(quotas, aPlan());
  await quotas.drain();
  assert.equal(ledger.calls.size, 0);
});

test('an outage is told as such, or passed over when the plan says so, and leaves nothing taken', async () => {
  const { quotas, weather, ledger, clock } = openQuotas();
  const limits = { quotas: [aQuota(9)], rate, concurrency };
  weather.refuses = true;
  const refusal = await refuse(quotas, aPlan(limits));
  assert.equal(refusal.code, 'quota_unavailable');
  assert.equal(refusal.headers['Retry-After'], '1');
  const given = await grant(quotas, aPlan({ ...limits, onStoreFailure: 'allow' }));
  assert.ok(given.owed);
  given.settle(ok);
  weather.refuses = false;
  await clock.pass(1000);
  assert.equal(ledger.used('ada', 'month', may), 1);
});

test('an answer tells no quota that could not be asked, though the store told it a moment ago', async () => {
  const { quotas, weather } = openQuotas();
  const plan = aPlan({ quotas: [aQuota(9)], consistency: 'strict', onStoreFailure: 'allow' });
  assert.match((await grant(quotas, plan)).describe().headers['RateLimit'] ?? '', /^"month";r=8/);
  weather.refuses = true;
  const given = await grant(quotas, plan);
  assert.ok(given.owed);
  assert.deepEqual(given.describe(), { headers: {}, newWarnings: [] });
});

test('a client that leaves while it waits gets its reason back, and nothing stays taken', async () => {
  const { quotas, weather, ledger, clock } = openQuotas();
  weather.takesMs = 5;
  const plan = aPlan({ quotas: [aQuota(9)], concurrency });
  const client = aClient();
  const decision = quotas.reserve({ keyId: 'ada', plan, cost: 1, whenLeft: client.whenLeft });
  client.leave(new Error('gone'));
  await assert.rejects(async () => await decision, /gone/);
  await clock.pass(2000);
  assert.equal(ledger.used('ada', 'month', may), 0);
  weather.takesMs = 0;
  await grant(quotas, plan);
  await runReady();
});

const shared = { ...concurrency, limit: 9, shared: true };

for (const [name, limits] of [
  ['alone', {}],
  ['and whose rate has cells at hand', { rate: { ...rate, limit: 100, burst: 100 } }],
  ['and whose units were drawn ahead', { quotas: [aQuota(100_000)] }],
] as const) {
  test(`a grant whose shared place could not be asked ${name} is marked`, async () => {
    const { quotas, weather, clock, ledger } = openQuotas();
    const plan = aPlan({ ...limits, concurrency: shared, onStoreFailure: 'allow' });
    for (let count = 0; count < 50; count += 1) {
      const given = await grant(quotas, plan);
      assert.ok(!given.owed);
      given.settle(ok);
      await clock.pass(10);
    }
    const askedBefore = asked(ledger.calls);
    weather.refuses = true;
    assert.ok((await grant(quotas, plan)).owed);
    assert.equal(asked(ledger.calls), askedBefore, 'the other limits had their say');
  });
}

test('a request whose rate could not be asked is refused, or its grant marked when the plan allows it', async () => {
  const { quotas, weather } = openQuotas();
  weather.refuses = true;
  assert.equal((await refuse(quotas, aPlan({ rate }))).code, 'quota_unavailable');
  const given = await grant(quotas, aPlan({ rate, onStoreFailure: 'allow' }));
  assert.ok(given.owed);
});

/** Questions about rates and quotas. */
function asked(calls: ReadonlyMap<string, number>): number {
  return (calls.get('takeCells') ?? 0) + (calls.get('draw') ?? 0);
}

test('a fault of the program lets nobody through whom a plan lets through in an outage', async () => {
  const { options } = createLedgerScene();
  const quotas = new Quotas({
    ...options,
    ledger: { ...options.ledger, takeCells: failByABug, enter: failByABug },
  });
  for (const limit of [{ rate }, { concurrency: { limit: 1, shared: true } }])
    await assert.rejects(ask(quotas, aPlan({ ...limit, onStoreFailure: 'allow' })), TypeError);
});

function failByABug(): Promise<never> {
  return Promise.reject(new TypeError('a bug'));
}
