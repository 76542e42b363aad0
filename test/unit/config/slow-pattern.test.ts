import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { slownessOf } from '../../../src/config/slow-pattern.ts';

const doubling = [
  '^(a+)+$',
  '^(a*)*$',
  '^(?:a+){2,}$',
  '^(?<word>[a-z]+)*$',
  '^((a+)b?)+$',
  '^(x(?:y{1,})*)*?$',
  '^([)]+)+$',
  '(\\w+\\s?)*$',
  '^(?=a)(a|b*)+$',
  '^(\\w|\\d)+$',
  '^(a|a)*$',
  '^(a|b|ab)*c$',
  '^(ab|aba|ba)*$',
  '^(\\p{L}|\\p{Lu})+$',
  '^(\\u{e9}|[à-ü])+$',
  '^(.*,)*$',
  '^(\\w+\\.?)*$',
  '(x+x+)+y',
  '^(a+){10}$',
  '^([a-z]{1,20}){1,20}$',
  '^(a{2,5})+$',
  '(?=(a+)+$)b',
  '^(?:(a+)+b)?c$',
  '^(a+)+(?!.)',
  '^[a-z]+@([a-z]+\\.?)+$',
  '^(?:\\w{1,9}[.-]?){1,9}$',
  '^(?:\\d{2,9},?){1,9}$',
  '^(?:[A-Za-z0-9]{1,8}[-_ ]?){1,8}$',
  '^(?:[a-z]{1,6} ?){1,9}$',
  '^(?:(?:a{0,5}){5}){5}$',
  '^(a?){30}a{30}$',
  '^(a+\\B)+$',
  '^(?:[a-z]+\\B ?)+$',
  '^(?i:a|A)+$',
  '^(?i:(?-i:a)|b|A)+$',
  '^(?s:.|\\n)+!$',
  '^(?:\\p{Script=Greek}|\\p{Lu})+$',
  '^(?:\\p{Script=Arabic}|\\p{L})+$',
  '^(?:[\\u{1F600}-\\u{1F64F}]|\\p{Emoji_Presentation})+$',
  '^(?:[Α-Ω]|\\p{Lu})+$',
  '^(?:\\p{Co}|\\p{C})+$',
  '^(?:\\p{Script=Greek}+[^\\p{Lu}]?)+$',
];
const dividing = [
  '^\\d+\\d+$',
  '^\\d*\\w+!$',
  '^.*,.*$',
  '^(a+){3}$',
  '^[^@\\s]+@[^@\\s]+\\.[^@\\s]+$',
  '^(?=.*a.*b)',
  '^a*(?:a{2}d?|cd?)b?a+$',
  '^\\p{Script=Thai}*\\p{L}*!$',
  '^\\d+\\B\\d+$',
  '^(?:\\b\\w+|\\w)+$',
];
const searching = [
  '^\\s+|\\s+$',
  '\\s+$',
  'a+b',
  '.*x',
  '(?=.*\\d)(?=.*[a-z]).+',
  '(ab)+(cd)+',
  '(?!.*x)',
  '(?m:^)a+b',
  '\\b[\\w.]+@',
];

const quick = [
  '',
  '^[a-z]+$',
  '\\S',
  '\\S+',
  '^\\S(.*\\S)?$',
  '^\\s*\\S[\\s\\S]*$',
  '^.{1,50}$',
  '^.*$',
  '^.+\\.pdf$',
  '\\.(?:jpg|png)$',
  '^(ab)+$',
  '(a+)?',
  '(a+)+',
  '(a{2})+',
  '^(?:a{12}-?)+$',
  '^(\\+)+$',
  '^([+*])+$',
  '[(a+)+]',
  '\\(a+\\)+',
  '^(?=.*\\d)(?=.*[a-z]).{8,}$',
  '^(?:(?!--).)*$',
  '^(["\']).{0,20}\\1$',
  '^\\+?[0-9 ]{7,20}$',
  '^\\+[1-9]\\d{1,14}$',
  '^[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\\.[a-zA-Z]{2,}$',
  '^[\\w.+-]+@\\w+\\.\\w{2,}$',
  '^[^@\\s]+@[^@\\s]+$',
  '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
  '^\\d{4}-\\d{2}-\\d{2}$',
  '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(?:\\.\\d+)?(?:Z|[+-]\\d{2}:\\d{2})$',
  '^-?\\d+(?:\\.\\d+)?$',
  '^(?:\\d{1,3}\\.){3}\\d{1,3}$',
  '^#[0-9a-fA-F]{6}$',
  '^https?://[^\\s/$.?#].[^\\s]*$',
  '^[a-z0-9]+(?:-[a-z0-9]+)*$',
  '^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z]{2,}$',
  '^\\w+(?:\\.\\w+)*$',
  "^\\p{L}[\\p{L}\\p{M}' -]*$",
  '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$',
  '^[\\w-]+\\.[\\w-]+\\.[\\w-]+$',
  '\\bfoo\\b',
  '\\b\\w+\\b',
  '\\b\\w+\\s',
  '^\\w+\\b\\s\\b\\w+$',
  '^(?:\\w+\\b\\W)+$',
  '^\\p{L}+$',
  '^\\p{Lu}\\p{Ll}*$',
  '^[\\p{L}\\p{N} ]+$',
  "^[\\p{L}\\p{M}]+(?:[ '’-][\\p{L}\\p{M}]+)*$",
  '^\\p{Script=Cyrillic}+(?:[ -]\\p{Script=Cyrillic}+)*$',
  '^[\\p{Script=Greek}a-z]+$',
  '^\\p{Script=Han}{2,4}$',
  '^\\p{Emoji}$',
  '^[^\\p{C}]{1,100}$',
  '^(?i:[a-z0-9]+(?:-[a-z0-9]+)*)$',
  '^(?i:https?)://\\S+$',
  '^(?:(?i:true)|(?i:false))$',
  '^\\+?\\d{1,3}[-. ]?\\(?\\d{1,4}\\)?(?:[-. ]?\\d{2,4}){1,4}$',
  '^(?:\\d{1,3} ?){1,5}$',
  '^(?:\\+49|0)(?:[ /-]?\\d){5,14}$',
  '^\\(?\\d{3}\\)?[-. ]?\\d{3}[-. ]?\\d{4}$',
  '^\\d{5}(?:-\\d{4})?$',
  '^[A-Z]{1,2}\\d[A-Z\\d]? ?\\d[A-Z]{2}$',
  '^[A-Z]{2}\\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?$',
  '^(?:\\d{4}[ -]?){3}\\d{4}$',
  '^[A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?$',
  '^v?\\d+\\.\\d+\\.\\d+(?:-[0-9A-Za-z.-]+)?$',
  '^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])$',
  '^(?:[01]\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d)?$',
  '^P(?=.)(?:\\d+Y)?(?:\\d+M)?(?:\\d+D)?(?:T(?:\\d+H)?(?:\\d+M)?(?:\\d+S)?)?$',
  '^#(?:[0-9a-fA-F]{3}){1,2}$',
  '^(?:[0-9A-F]{2}[:-]){5}[0-9A-F]{2}$',
  '^(?:(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)(?:\\.(?!$)|$)){4}$',
  '^[a-z]{2,3}(?:-[A-Z]{2})?$',
  '^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*$',
  '^[A-Za-z_$][\\w$]*$',
  '^/(?:[\\w.~-]+/)*[\\w.~-]*$',
  '^[\\w.-]+/[\\w.+-]+$',
  '^@?[a-z0-9_]{1,15}$',
  '^-?(?:90(?:\\.0+)?|[1-8]?\\d(?:\\.\\d+)?)$',
  '^(?:\\w{1,20},){0,9}\\w{1,20}$',
  '^[^<>]*$',
  '^\\S+(?: \\S+)*$',
  '^(0|[1-9]\\d*)\\.(0|[1-9]\\d*)\\.(0|[1-9]\\d*)(?:-((?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\\.(?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\\+([0-9a-zA-Z-]+(?:\\.[0-9a-zA-Z-]+)*))?$',
];

describe('the time that a hostile text can take a pattern', () => {
  for (const [kind, patterns] of Object.entries({ doubling, dividing, searching })) {
    for (const pattern of patterns) {
      it(`${pattern} is slow by ${kind}`, () => assert.equal(slownessOf(pattern)?.kind, kind));
    }
  }
  for (const pattern of quick) {
    it(`${pattern === '' ? 'nothing' : pattern} is quick`, () =>
      assert.equal(slownessOf(pattern), undefined));
  }

  it('is told with the parts of the pattern that it is about', () => {
    assert.deepEqual(slownessOf('^(\\w|\\d)+$'), { kind: 'doubling', at: '\\w' });
    assert.deepEqual(slownessOf('^\\d*\\w+!$'), { kind: 'dividing', at: ['\\d', '\\w'] });
    assert.deepEqual(slownessOf('^\\s+|\\s+$'), { kind: 'searching', at: '\\s' });
  });

  it('is told of a reference to a group, whatever its name', () => {
    assert.equal(slownessOf('^(?<é>[\'"]).{0,20}\\k<é>$'), undefined);
    assert.equal(slownessOf('^(?<é>a)(?i:\\k<é>|a)+!$')?.kind, 'doubling');
  });

  it('is not told of what is no pattern', () => assert.equal(slownessOf('(a+'), undefined));

  for (const [name, pattern] of [
    ['long', 'a*'.repeat(20_000)],
    ['nested', `${'('.repeat(900)}a${')+'.repeat(900)}`],
    ['multiplied', `${'(?:'.repeat(60)}a${'){2}'.repeat(60)}`],
    ['wide', `^(?:${Array.from({ length: 300 }, (_, at) => 'a'.repeat(1 + (at % 15))).join('|')})*$`],
    ['branched', `^${'(?:a|b|c|d)*e'.repeat(200)}$`],
  ] as const) {
    it(`is not looked for without end in a pattern that is ${name}`, () => {
      assert.deepEqual(slownessOf(pattern), { kind: 'unknown' });
    });
  }

  it('is told of a list of many words', () => {
    const words = Array.from('ABCDEFGHIJKLM', (first) =>
      Array.from('NOPQRSTUVW', (second) => first + second),
    );
    const word = words.flat().join('|');
    assert.equal(slownessOf(`^(?:${word})(?:,(?:${word}))*$`), undefined);
  });
});
