import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import { loadConfig } from '../../../src/config/load-config.ts';
import { ConfigErrors } from '../../../src/config/problems.ts';
import { refusalCodes } from '../../../src/refusals.ts';
import { makeCertificate } from '../../helpers/certificates.ts';
import { complaints } from '../../helpers/complaints.ts';
import { writeTemporary } from '../../helpers/config-file.ts';

const upstream = 'upstreams: { a: { targets: ["http://127.0.0.1:9000"] } }';
const route = 'routes: [{ path: /x, methods: [GET], upstream: a }]';
const least = `${upstream}\n${route}\n`;
const shared = new Map([
  ['@upstream', [upstream]],
  ['@route', [route]],
  ['@least', [upstream, route]],
]);

/**
 * Whole files, each below its name. Below a line stands what is said of it, at the column that it is said of: after `^` a mistake, for
 * which the file is refused, after `~` a warning.
 */
const files = readFileSync(new URL('complaints.txt', import.meta.url), 'utf8').split(/^== /m);
for (const [title = '', ...written] of files.slice(1).map((file) => file.trimEnd().split('\n'))) {
  test(`${title}: what is said of it stands where it is`, (t) => {
    const lines: string[] = [];
    const expected: string[] = [];
    for (const line of written) {
      const [, blank = '', mark = '', sentence = ''] = /^( *)([~^]) (.*)$/.exec(line) ?? [];
      if (mark !== '') expected.push(`${mark} ${lines.length}:${blank.length + 1}: ${sentence}`);
      else lines.push(...(shared.get(line) ?? [line]));
    }
    assert.deepEqual(saidOf(t, lines.join('\n')), expected);
  });
}

function saidOf(t: TestContext, text: string): readonly string[] {
  const file = writeTemporary(t, text);
  const told = (mark: string, lines: readonly string[]) =>
    lines.map((line) => `${mark} ${line.replaceAll(`${file}:`, '')}`);
  try {
    return told('~', loadConfig(file, {}).warnings);
  } catch (error) {
    assert.ok(error instanceof ConfigErrors);
    return told('^', error.lines);
  }
}

test('blanks that are no spaces, as web pages have them, are told of', (t) => {
  const text = `${least}log:\n\u00A0 level: info\nkeys: [{ id: demo, plan: \u200Bfree, secret: demo-secret-0123456789 }]\nplans: { free: { \u00A0concurrency: 8 } }\n`;
  assert.deepEqual(complaints(t, text), [
    '3:1: log: is empty, it must be a mapping (option: value); {} has the defaults',
    '4:1: ["…"]: unknown option, a blank in it is no plain space',
    '5:20: keys[0].plan: there is no plan "\\u{200b}free", did you mean "free"?',
    '6:18: plans.free["…"]: unknown option, a blank in it is no plain space',
  ]);
});

test('what plays tricks on terminals is shown by its number', (t) => {
  const [said = ''] = complaints(t, `${least}log: { level: "info\\x7f\\x9b\\e" }\n`);
  assert.match(said, /there is no "info\\u\{7f\}\\u\{9b\}\\u001b"/);
});

test('lines may end as on Windows, and the file begin with a byte order mark', (t) => {
  assert.deepEqual(complaints(t, `\uFEFF${least.replaceAll('\n', '\r\n')}`), []);
  const glued = 'routes:\r\n  -path: /v1/a\r\n  - path: /v1/b\r\n';
  assert.deepEqual(complaints(t, glued), ['2:3: a space is missing after this -']);
});

test('a file whose lines end with CR alone is told as that, whatever would be read of it', (t) => {
  const says = ['1:1: the lines end with CR alone, save the file with LF'];
  for (const text of [least, `# all of it\n${least}`, 'log: {}\n', `${upstream}\n\n${route}`])
    assert.deepEqual(complaints(t, text.replaceAll('\n', '\r')), says, text);
});

test('commas that are missing very many times are told as that', (t) => {
  const says = '1:1: the file is nested too deeply, or very many commas are missing';
  assert.deepEqual(complaints(t, `a: {${' b: 1 c: 2'.repeat(5000)}}\n`), [says]);
});

test('of many refusals the first twenty are shown to choose from, where none is like the one that is written', (t) => {
  const choice = `choose from ${refusalCodes.slice(0, 20).join(', ')} or ${refusalCodes.length - 20} more`;
  for (const name of ['nope', 'quota_exceeded'])
    assert.deepEqual(complaints(t, `${least}errors: { ${name}: {} }\n`), [
      `3:11: errors.${name}: there is no refusal "${name}", ${choice}`,
    ]);
});

test('a pattern that is too large to be looked at is told as that', (t) => {
  const schema = `{ properties: { k: { pattern: '^${'(?:a|b|c|d)*e'.repeat(200)}$' } } }`;
  const [warning] = saidOf(
    t,
    `${upstream}\nroutes: [{ path: /x, methods: [PUT], upstream: a, body: { json: { schema: ${schema} } } }]\n`,
  );
  assert.match(
    warning ?? '',
    /k\.pattern: "\^.{39}…" is too large to tell whether a hostile text can make it hold up every request: make it smaller, or set maxLength to 16 or less$/,
  );
});

test('the first twenty mistakes in the YAML are told, the others may be about the same', (t) => {
  const wrong = Array.from({ length: 30 }, (_, at) => `k${at}: @x\n`);
  assert.equal(complaints(t, wrong.join('')).length, 20);
});

test('mistakes between fields are told beside those within, however long the list', (t) => {
  const lines = Array.from({ length: 12 }, (_, at) => {
    const named = at === 11 ? 'none' : 'free';
    return at === 9 || at === 10
      ? `  - k${at}\n`
      : `  - { id: k${at}, plan: ${named}, secret: sixteen-letters-${at} }\n`;
  });
  const said = complaints(t, `${least}plans: { free: {} }\nkeys:\n${lines.join('')}`);
  assert.deepEqual(
    said.map((line) => line.split(': ')[1]),
    ['keys[9]', 'keys[10]', 'keys[11].plan'],
  );
});

test('what a variable holds is taken for a number or a choice only where it is one to the letter', (t) => {
  const text = `${least}workers: "\${WORKERS}"\nauth: { forwardKey: "\${FORWARD}" }\nlimits: { inFlight: "\${MOST}" }\n`;
  const good = { WORKERS: 'auto', FORWARD: 'true', MOST: '1000' };
  assert.deepEqual(complaints(t, text, good), []);
  for (const wrong of ['', ' 2', '2x', 'x2', '1e3', '0x10', '1.0', '12345678901234567'])
    assert.equal(complaints(t, text, { ...good, WORKERS: wrong, MOST: wrong }).length, 2, wrong);
  for (const wrong of ['', 'TRUE', 'untrue', 'falsely', '1'])
    assert.equal(complaints(t, text, { ...good, FORWARD: wrong }).length, 1, wrong);
});

test('authorities are refused with one among them that is none', (t) => {
  const { cert } = makeCertificate(t, ['DNS:localhost']);
  const said = (ca: string, target = '"https://h"') =>
    complaints(t, least.replace('"http://127.0.0.1:9000"] }', `${target}], ca: ${JSON.stringify(ca)} }`));
  assert.deepEqual(said(cert + cert), []);
  assert.match(said(cert, 'nowhere').join(), /^1:29: upstreams\.a\.targets\[0\]: [^:]*:[^:]*:[^:]*$/);
  const broken = cert.replace('\nM', '\nA');
  // As a file that is being written is read.
  const half = cert.slice(0, cert.length / 2);
  for (const ca of [cert + broken, broken + cert, cert + half, half + cert])
    assert.deepEqual(said(ca), [
      '1:43: upstreams.a.ca: is not PEM certificates (-----BEGIN CERTIFICATE-----)',
    ]);
  const empty = writeTemporary(t, 'nonsense');
  assert.deepEqual(complaints(t, `${least}store: "rediss://h?ca=${empty}"\n`), [
    `3:1: store: the file ${empty} of its ca is not PEM certificates (-----BEGIN CERTIFICATE-----)`,
  ]);
});
