import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { slownessOf, type Slowness } from '../../../../../src/config/body-schema/patterns/slow-pattern.ts';

function judge(pattern: string, textLength = 65_536): Slowness | undefined {
  return slownessOf(pattern, textLength);
}

const doubling = [
  '^(a+)+$',
  '^(?:a+){2,}$',
  '^(?<word>[a-z]+)*$',
  '^([)]+)+$',
  '(\\w+\\s?)*$',
  '^(?=a)(a|b*)+$',
  '^(\\w|\\d)+$',
  '^(a|b|ab)*c$',
  '^(\\p{L}|\\p{Lu})+$',
  '^(\\u{e9}|[à-ü])+$',
  '^(.*,)*$',
  '(x+x+)+y',
  '^(a+){10}$',
  '^([a-z]{1,20}){1,20}$',
  '^(a{2,5})+$',
  '(?=(a+)+$)b',
  '^(?:(a+)+b)?c$',
  '^(a+)+(?!.)',
  '^(?:\\w{1,9}[.-]?){1,9}$',
  '^(?:[a-z]{1,6} ?){1,9}$',
  '^(?:(?:a{0,5}){5}){5}$',
  '^(a?){30}a{30}$',
  '^(a+\\B)+$',
  '^(?:[a-z]+\\B ?)+$',
  '^(?i:a|A)+$',
  '^(?i:(?-i:a)|b|A)+$',
  '^(?s:.|\\n)+!$',
  '^(?:\\p{Script=Greek}|\\p{Lu})+$',
  '^(?:[\\u{1F600}-\\u{1F64F}]|\\p{Emoji_Presentation})+$',
  '^(?:[Α-Ω]|\\p{Lu})+$',
  '^(?:\\p{Co}|\\p{C})+$',
  '^(?:\\p{Script=Greek}+[^\\p{Lu}]?)+$',
  '^(?:\\w+\\s?)+(?:$|(?=;))',
  '^(?:\\w+\\s?)+(?:(?=;))',
  '^(?:\\w+\\s?)*((?<=x)|(?<=y))',
  '^(?:a+)+(?:(?!\\W)){1}',
  '^(?:(?:(?=a)|(?!b))\\w)+$',
  '^(?:\\w+(?!,)\\B)+$',
  '(?<=b(?:a+)+)c',
  '(?<!-(?:\\w+)+)$',
  '^.*(?<!\\.(?:\\w+)*)$',
  '^[^](?<=^(?:\\d|\\w)+)$',
  '(?<=-(?:(?=(\\w+\\s?)+$)|x))y',
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
  '^\\d+(?!-)\\d+$',
  '^.*(?<=,.*)$',
  '^[^]*(?<=^[^]*)b',
  '^(?:(?=a*)a)*$',
  '^(?:(?!\\s+$)[\\s\\w])*!',
  '^\\d+(?!.+)',
  '^(?:[a-z]+,|[a-z])*',
  '(?:\\w+[a-z]|\\d)*',
  '^(?:<[^>]*>|.)*',
  '^(?:(?=\\w*!)\\w|\\w)*',
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
  '(?<=,\\w*)x',
  '\\d+(?:(?=%)|$)',
  '[A-Za-z ]*$',
  '\\s*$',
  '.*$',
  '(?:[a-z]*)?$',
  '(?=[a-z]*$)',
  '^[a-z]*$|[0-9]*$',
  '(?:(?!\\S+)\\s|\\d)x',
  '(?<!\\w*)',
];
const counting = [
  '(?:[a-z]{1,20} ?){1,3}!',
  '(?:[a-z]{1,40} ?){2,3}@',
  '[a-z]{1,40}[a-z0-9]{1,40}@',
  '\\w{1,400}@',
  '\\w{400}@',
  '\\S{0,100}[^@]{100}!',
  '(?:[a-z]{1,20},){1,400}!',
  '(?:[a-z]{1,20},){1,20}!',
  '(?:-?[a-z]{1,100},){1,10}!',
  '(?:(?:[a-z]{1,5}\\.){1,4}:){1,30}!',
  '(?:\\d{1,3} ?){1,5};',
  '\\d{1,400}(?!\\d)',
  '\\w{1,600}$',
  '^x$|\\w{1,600}$',
  '(?=[a-z]{1,300}x)',
  '(?<=,\\w{1,300})x',
  '(?i:[a-z]{1,300})!',
  '(?:\\w{1,20}\\B){2,3}!',
  '(?:a{1,9}){3}b',
];

const quick = [
  '^(?=.*\\d.*)(?=.*[a-z].*).{8,}$',
  '^(?!.*--.*)[a-z-]+$',
  '^(?=\\S+@\\S+).{3,}$',
  '^(?!.*(.)\\1.*).+$',
  '^(?=\\w*\\d\\w*)\\w+$',
  '',
  '\\S',
  '^\\S(.*\\S)?$',
  '^\\s*\\S[\\s\\S]*$',
  '^.{1,50}$',
  '^.*$',
  '^.*.*',
  '^(?:"[^"]*"|[^"])*',
  '^(?:\\w+\\s)*',
  '(?:a+b)?',
  '^[a-z](?:-?[a-z0-9]+)*',
  '^[^<]*(?:<[^>]*>[^<]*)*',
  '^(?:[^"\\\\]|\\\\.)*',
  '^\\S+(?:\\s+\\S+)*',
  '^.+\\.pdf$',
  '^\\s*[\\s\\S]*$',
  '^(?:a+a+){0}b$',
  '\\.(?:jpg|png)$',
  '(a+)?',
  '(a+)+',
  '^(?:a{12}-?)+$',
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
  '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(?:\\.\\d+)?(?:Z|[+-]\\d{2}:\\d{2})$',
  '^-?\\d+(?:\\.\\d+)?$',
  '^(?:\\d{1,3}\\.){3}\\d{1,3}$',
  '^https?://[^\\s/$.?#].[^\\s]*$',
  '^[a-z0-9]+(?:-[a-z0-9]+)*$',
  '^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z]{2,}$',
  "^\\p{L}[\\p{L}\\p{M}' -]*$",
  '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$',
  '^[\\w-]+\\.[\\w-]+\\.[\\w-]+$',
  '\\bfoo\\b',
  '\\b\\w+\\b',
  '\\b\\w+\\s',
  '^\\w+\\b\\s\\b\\w+$',
  '^(?:\\w+\\b\\W)+$',
  '^[\\p{L}\\p{N} ]+$',
  "^[\\p{L}\\p{M}]+(?:[ '’-][\\p{L}\\p{M}]+)*$",
  '^\\p{Script=Cyrillic}+(?:[ -]\\p{Script=Cyrillic}+)*$',
  '^[\\p{Script=Greek}a-z]+$',
  '^\\p{Script=Greek}+(?:-\\p{Script=Greek}+)*$',
  '^\\p{Script=Yi}+(?:-\\p{Script=Yi}+)*$',
  '^\\p{Script=Gothic}+(?:-\\p{Script=Gothic}+)*$',
  '^\\p{Script=Adlam}+(?:-\\p{Script=Adlam}+)*$',
  '^\\u{3b1}+(?:[\\u{3b2}\\x2d]\\u{3b1}+)*$',
  '^\\p{Emoji}$',
  '^[^\\p{C}]{1,100}$',
  '^(?i:[a-z0-9]+(?:-[a-z0-9]+)*)$',
  '^(?:(?i:true)|(?i:false))$',
  '^\\+?\\d{1,3}[-. ]?\\(?\\d{1,4}\\)?(?:[-. ]?\\d{2,4}){1,4}$',
  '^(?:\\d{1,3} ?){1,5}$',
  '^(?:\\+49|0)(?:[ /-]?\\d){5,14}$',
  '^[A-Z]{1,2}\\d[A-Z\\d]? ?\\d[A-Z]{2}$',
  '^[A-Z]{2}\\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?$',
  '^v?\\d+\\.\\d+\\.\\d+(?:-[0-9A-Za-z.-]+)?$',
  '^P(?=.)(?:\\d+Y)?(?:\\d+M)?(?:\\d+D)?(?:T(?:\\d+H)?(?:\\d+M)?(?:\\d+S)?)?$',
  '^#(?:[0-9a-fA-F]{3}){1,2}$',
  '^(?:(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)(?:\\.(?!$)|$)){4}$',
  '^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*$',
  '^/(?:[\\w.~-]+/)*[\\w.~-]*$',
  '^-?(?:90(?:\\.0+)?|[1-8]?\\d(?:\\.\\d+)?)$',
  '^(?:\\w{1,20},){0,9}\\w{1,20}$',
  '(?<!-)$',
  '^[a-z](?:[a-z]|-(?!-)){0,60}(?<!-)$',
  '^(?!-)[a-z0-9-]{1,63}(?<!-)$',
  '^(?:(?!-)[a-z0-9-]{1,63}(?<!-)\\.)+[a-z]{2,}$',
  '^(?!\\s)(?!.*\\s$).+$',
  '^(?!.*--)[a-z-]+$',
  '^(?!.*\\.\\.)(?!.*\\.$)[\\w.]+$',
  '^(?:(?!\\.\\.)[\\w./])+$',
  '^.*(?<!\\.exe)$',
  '^\\S+(?<![.,])$',
  '(?<=\\$)\\d{1,5}(?!\\d)',
  '^(?=.{1,254}$)[^@\\s]+@[a-z.]+$',
  '^\\d+(?:\\.\\d+)?(?:(?=%)%)?$',
  '^(?:\\w+(?:\\s(?!$)|$))+$',
  '^[^](?<=^[^]*)',
  '^(?:\\w(?=\\w|$))*$',
  '^(?:[A-Z](?![A-Z])|[a-z])+$',
  '^(?=(?:\\w|\\d)+)x',
  '^(?!(?:con|nul)$)\\w+$',
  '^(0|[1-9]\\d*)\\.(0|[1-9]\\d*)\\.(0|[1-9]\\d*)(?:-((?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\\.(?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\\+([0-9a-zA-Z-]+(?:\\.[0-9a-zA-Z-]+)*))?$',
  '[a-z]{2,40}',
  '[a-z]{2,40}@',
  '\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}',
  '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}',
  '[0-9a-f]{128}$',
  '\\w{1,64}@',
  '[\\w.+-]{1,64}@[\\w-]{1,63}\\.[a-z]{2,10}',
  '[a-zA-Z0-9._%+-]{1,64}@[a-zA-Z0-9.-]{1,253}\\.[a-zA-Z]{2,63}',
  '(\\d{1,3}\\.){3}\\d{1,3}',
  '(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}',
  '[A-Z]{2}\\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?$',
  'https?://[^\\s]{1,2000}',
  '[^<>]{0,200}$',
  '(?=.{8,64}$)',
  '\\p{L}{1,100}$',
  '(?:\\w{1,20} ){0,4}\\w{1,20}$',
  '(?:[a-z]{1,10} ?){1,2}$',
  '(?:\\d{1,3} ?){1,5}$',
  '[a-z0-9]{1,63}(?:-[a-z0-9]{1,63}){0,3}',
  '\\w{1,400}$',
  '\\w{1,400}',
  '(?<!-)\\w{1,400}',
  '\\b\\w{1,400}@',
  '-[a-z]{1,400}!',
  '(?:-[a-z]{1,100}){1,10}!',
  '(?:\\d{3},){1,250}!',
  '(?:[a-z0-9-]{1,63}\\.){1,4}[a-z]{2,63}',
  '[a-z]{1,40}-[a-z]{1,40}-[a-z]{1,40}@',
  '(?:-\\w+ ){1,80}!',
  '(?:a?){1,30}x',
  '^\\w{1,400}@',
  '^(?:[a-z]{1,40} ?){2}@',
  '^.{1,5000}$',
  '^[A-Za-z0-9+/]{0,4000}={0,2}$',
];

describe('the time that a hostile text can take a pattern', () => {
  for (const [kind, patterns] of Object.entries({ doubling, dividing, searching, counting })) {
    for (const pattern of patterns) {
      it(`${pattern} is slow by ${kind}`, () => assert.equal(judge(pattern)?.kind, kind));
    }
  }
  for (const pattern of quick) {
    it(`${pattern === '' ? 'nothing' : pattern} is quick`, () => assert.equal(judge(pattern), undefined));
  }

  it('is told with the parts of the pattern that it is about', () => {
    assert.deepEqual(judge('^(\\w|\\d)+$'), { kind: 'doubling', at: '\\w' });
    assert.deepEqual(judge('^\\d*\\w+!$'), { kind: 'dividing', at: ['\\d', '\\w'] });
    assert.deepEqual(judge('^\\s+|\\s+$'), { kind: 'searching', at: '\\s' });
    assert.deepEqual(judge('-?\\w{1,400}@'), { kind: 'counting', at: '\\w', reads: 400 });
  });

  it('is told for the length that a text may have, where counts matter', () => {
    assert.equal(judge('(?:[a-z]{1,40} ?){2,3}@', 1000)?.kind, 'counting');
    assert.equal(judge('(?:[a-z]{1,40} ?){2,3}@', 250), undefined);
    assert.equal(judge('\\w{1,64}@', 1_000_000)?.kind, 'counting');
    assert.equal(judge('\\d{3}-\\d{4}', 1_000_000_000), undefined);
  });

  // In a text of aaa…c, again and again, no count is ever complete.
  it('is told of a count that fails near its end, each time that a choice before it is made anew', () => {
    assert.deepEqual(judge('[a-z]{1,1000}[ab]{300}', 1000), {
      kind: 'counting',
      at: '[a-z]',
      reads: 301_000,
    });
    assert.equal(judge('[ab]{1,1000}[ab]{300}', 1000)?.kind, 'counting');
    assert.equal(judge('[a-z]{1,100}(?:a|b){30}', 16_384)?.kind, 'counting');
    assert.equal(judge('[0-9a-f]{64}', 1_000_000)?.kind, 'counting');
    assert.equal(judge('[a-z]{1,1000}[ab]', 1000), undefined);
  });

  it('is told of counts behind a "^" that divide a text in very many ways', () => {
    const pattern = '^[a-z]{1,300}[a-z]{1,300}[a-z]{1,300}!';
    assert.deepEqual(judge(pattern), { kind: 'doubling', at: '[a-z]' });
    assert.equal(judge('^(?:[a-z]{1,100}-?){4}$', 1000)?.kind, 'doubling');
    assert.equal(judge('^https?://[\\w.-]{1,255}[\\w/.-]{0,500}[?\\w=&-]{0,500}$')?.kind, 'doubling');
    assert.equal(judge('^(?:id:|no:)(?:[a-z]{1,300}[a-z]{1,300}[a-z]{1,300})!')?.kind, 'doubling');
    assert.equal(judge(pattern, 100), undefined);
    assert.equal(judge('^[a-z]{1,300}-[a-z]{1,300}-[a-z]{1,300}!'), undefined);
    assert.equal(judge('^[a-z]{1,300}[a-z]{1,300}!'), undefined);
    assert.equal(judge('^[a-z]{1,300}[0-9]{1,300}[a-z]{1,300}[0-9]{1,300}!'), undefined);
  });

  it('is told of a reference to a group, whatever its name', () => {
    assert.equal(judge('^(?<é>[\'"]).{0,20}\\k<é>$'), undefined);
    assert.equal(judge('^(?<é>a)(?i:\\k<é>|a)+!$')?.kind, 'doubling');
  });

  // With a look at all parts for each part around them this would not end.
  it('is told however deep a pattern is nested', () => {
    assert.equal(judge(`${'(?:'.repeat(60)}a?${'b?){0,1}'.repeat(60)}!`), undefined);
  });

  it('is not told of what is no pattern', () => assert.equal(judge('(a+'), undefined));

  for (const [name, pattern] of [
    ['long', 'a*'.repeat(20_000)],
    ['nested', `${'('.repeat(900)}a${')+'.repeat(900)}`],
    ['multiplied', `${'(?:'.repeat(60)}a${'){2}'.repeat(60)}`],
    ['wide', `^(?:${Array.from({ length: 300 }, (_, at) => 'a'.repeat(1 + (at % 15))).join('|')})*$`],
    [
      'of many alphabets',
      `^(?:${Array.from({ length: 40 }, (_, at) => `[\\p{L}${String.fromCodePoint(0x3400 + at)}]`).join('')})$`,
    ],
    ['full of looks', `^(?:${'(?=a)|'.repeat(140)}a)*$`],
    ['branched', `^${'(?:a|b|c|d)*e'.repeat(200)}$`],
  ] as const) {
    it(`is not looked for without end in a pattern that is ${name}`, () => {
      assert.deepEqual(judge(pattern), { kind: 'unknown' });
    });
  }

  it('is told of a list of many words', () => {
    const words = Array.from('ABCDEFGHIJKLM', (first) =>
      Array.from('NOPQRSTUVW', (second) => first + second),
    );
    const word = words.flat().join('|');
    assert.equal(judge(`^(?:${word})(?:,(?:${word}))*$`), undefined);
  });
});
