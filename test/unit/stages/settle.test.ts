import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Grant, Outcome } from '../../../src/quota/grants.ts';
import { settle } from '../../../src/stages/settle.ts';
import type { Progress } from '../../../src/upstream/exchange.ts';
import { noProgress } from '../../helpers/progress.ts';

const answered = (status: number): Outcome => ({ kind: 'answered', status });

const endings: readonly [name: string, progress: Partial<Progress>, outcome: Outcome][] = [
  ['never left', {}, { kind: 'unsent' }],
  ['has no answer', { sent: true }, { kind: 'unanswered' }],
  ['was answered', { sent: true, answered: 200 }, answered(200)],
  ['was answered to a client that left', { sent: true, answered: 200, cut: 'client' }, answered(200)],
  ['has an answer that broke off', { sent: true, answered: 200, cut: 'upstream' }, { kind: 'unanswered' }],
  ['has an answer that we cut', { sent: true, answered: 200, cut: 'gateway' }, { kind: 'unanswered' }],
  ['switched protocols', { sent: true, answered: 101 }, answered(101)],
  ['switched protocols until we cut it', { sent: true, answered: 101, cut: 'gateway' }, answered(101)],
];

for (const [name, progress, outcome] of endings) {
  test(`a request that ${name} is settled as ${outcome.kind}, with the cost that was told`, () => {
    const told: unknown[] = [];
    const grant = { settle: (...how: unknown[]) => told.push(how) };
    settle(grant as unknown as Grant, { ...noProgress(), ...progress, cost: 7 });
    assert.deepEqual(told, [[outcome, 7]]);
  });
}
