import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSlowPattern } from '../../../src/config/slow-pattern.ts';

const slow = [
  '^(a+)+$',
  '(a*)*',
  '(?:a+){2,}',
  '(?<word>[a-z]+)*',
  '((a+)b?)+',
  '(x(?:y{1,}))*?',
  '([)]+)+',
  '(\\w+\\s?)*$',
  '^(?=a)(a|b*)+',
];
for (const pattern of slow) {
  test(`${pattern} repeats a repetition`, () => assert.equal(isSlowPattern(pattern), true));
}

const quick = [
  '',
  '^[a-z]+$',
  '^(ab)+$',
  '(a+)?',
  '(a+){3}',
  '(a+){1,3}',
  '(a{2})+',
  '(?=.*\\d)(?=.*[a-z]).+',
  '(\\+)+',
  '([+*])+',
  '[(a+)+]',
  '\\(a+\\)+',
  '(a{2,5})+',
  '(ab)+(cd)+',
];
for (const pattern of quick) {
  test(`${pattern === '' ? 'nothing' : pattern} repeats none`, () =>
    assert.equal(isSlowPattern(pattern), false));
}
