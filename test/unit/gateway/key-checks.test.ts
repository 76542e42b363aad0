import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { AuthConfig } from '../../../src/config/config.ts';
import { openKeyChecks } from '../../../src/gateway/key-checks.ts';
import type { KeyStore } from '../../../src/stores/key-store.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { aKey, aSecret, digestOf } from '../../helpers/a-key.ts';
import { until } from '../../helpers/poll.ts';
import { settle } from '../../helpers/turnable-clock.ts';

const secret = 'a-foreign-secret';
const auth = { headers: ['apiKey'], forwardKey: false, cacheForMs: 1, graceOnOutageMs: 0, prefix: 'gh' };
const known = aKey({ secrets: [aSecret({ digest: digestOf(secret) })] });

/** What keys are checked with for a millisecond, where the wall clock stands still and can be set back. */
function openCheck(
  t: TestContext,
  { guessing }: Pick<AuthConfig, 'guessing'> = { guessing: { failuresMax: 1, perMs: 1 } },
) {
  const state = { asked: 0, reports: 0, watched: true, counted: [] as boolean[], noted: 0 };
  const store: Pick<KeyStore, 'findKey' | 'watch' | 'noteUses'> = {
    async findKey() {
      state.asked += 1;
      return known;
    },
    watch: () => () => void (state.watched = false),
    async noteUses(uses) {
      await settle();
      state.noted += uses.length;
    },
  };
  t.mock.timers.enable({ apis: ['Date'], now: Date.parse('2026-05-01T12:00:00Z') });
  const checks = openKeyChecks({
    store: store as KeyStore,
    countFailure: (slowed) => void state.counted.push(slowed),
    logger: createLogger('warn', { write: () => void (state.reports += 1) }),
  });
  const keyCheck = checks.under({ auth: { ...auth, guessing }, keys: [] });
  t.after(() => checks.close());
  const setBack = (): void => t.mock.timers.setTime(Date.parse('2026-05-01T11:00:00Z'));
  return { checks, keyCheck, state, setBack };
}

test('a key is kept for no longer because the clock was set back', async (t) => {
  const { keyCheck, state, setBack } = openCheck(t);
  await keyCheck.findKey(secret);
  setBack();
  await until(async () => {
    await keyCheck.findKey(secret);
    return state.asked > 1;
  });
});

test('guessing is told of as often as ever when the clock was set back', async (t) => {
  const { keyCheck, state, setBack } = openCheck(t);
  const guessUntilTold = (reports: number): Promise<boolean> =>
    until(() => {
      for (let guess = 0; guess < 2; guess += 1) keyCheck.noteFailure('192.0.2.1');
      return state.reports >= reports;
    });
  await guessUntilTold(1);
  setBack();
  await guessUntilTold(2);
});

test('each guess is counted, and whether it was one too many', async (t) => {
  const { keyCheck, state } = openCheck(t);
  const answers: boolean[] = [];
  await until(() => {
    for (let guess = 0; guess < 2; guess += 1) {
      answers.push(keyCheck.noteFailure('192.0.2.1') !== undefined);
    }
    return answers.includes(true);
  });
  assert.equal(answers[0], false);
  assert.deepEqual(state.counted, answers);
});

test('where nobody is to be slowed down, guesses are counted all the same', (t) => {
  const { keyCheck, state } = openCheck(t, { guessing: undefined });
  for (let guess = 0; guess < 100; guess += 1) assert.equal(keyCheck.noteFailure('192.0.2.1'), undefined);
  assert.deepEqual(new Set(state.counted), new Set([false]));
});

test('a reload forgives no guesses, unless it changes how they are counted', (t) => {
  const guessing = { failuresMax: 1, perMs: 1e9 };
  const { checks, keyCheck } = openCheck(t, { guessing });
  const guessUnder = (rule: AuthConfig['guessing']): boolean => {
    const check = checks.under({ auth: { ...auth, guessing: rule }, keys: [] });
    return check.noteFailure('192.0.2.1') !== undefined;
  };
  keyCheck.noteFailure('192.0.2.1');
  assert.equal(guessUnder({ ...guessing }), true);
  assert.equal(guessUnder({ ...guessing, failuresMax: 2 }), false);
});

test('who checks no keys any more listens to no store, and has written which were used', async (t) => {
  const { checks, keyCheck, state } = openCheck(t);
  const found = await keyCheck.findKey(secret);
  assert.ok(found !== undefined && found !== 'mistyped');
  keyCheck.noteUse(found, Date.now());
  await checks.close();
  assert.deepEqual([state.watched, state.noted], [false, 1]);
});
