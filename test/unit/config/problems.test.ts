import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigErrors, type Sentence } from '../../../src/config/problems.ts';
import { checkName, type Draft, type Report } from '../../../src/config/rules/draft.ts';

// Thousands of keys whose plan is gone were each compared with thousands of plans: a reload served nobody for minutes.

test('words are looked for only for the hundred mistakes that are told', () => {
  let looked = 0;
  const found = Array.from({ length: 150 }, (_, at) => ({
    file: 'gateway.yaml',
    line: at + 1,
    column: 1,
    path: '',
    message: (): string => `wrong ${(looked += 1)}`,
  }));
  const { lines, count, message } = new ConfigErrors(found);
  assert.deepEqual([looked, count, lines.length], [100, 150, 101]);
  assert.match(message, /^gateway\.yaml:1:1: wrong 1\n/);
  assert.match(message, /:100:1: wrong 100\n… and 50 more$/);
  assert.equal(new ConfigErrors(found.slice(50)).lines.length, 100);
});

test('the names near to one that is missing are looked for when that is told', () => {
  const told: Sentence[] = [];
  const report: Report = {
    problem: (_holder, _option, message) => void told.push(message),
    problemBelow: () => assert.fail(),
    warning: () => assert.fail(),
    isBroken: () => false,
    isHidden: () => false,
    mention: () => assert.fail(),
  };
  const draft = { declared: { plans: ['free'] } } as unknown as Draft;
  checkName({ plan: 'fre' }, 'plan', draft, report);
  const [sentence] = told;
  assert.ok(typeof sentence === 'function');
  assert.equal(sentence(), 'there is no plan "fre", did you mean "free"?');
});
