import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expandText } from '../../../../src/config/yaml/expand.ts';
import { writeTemporary } from '../../../helpers/config-file.ts';

test('a default stands for a variable that is unset or empty, and may be empty itself', () => {
  const text = '${A:-one} ${B:-two} ${C:-three}${C:-}';
  assert.deepEqual(expandText(text, { A: '', B: 'set' }), { text: 'one set three', expanded: true });
  assert.deepEqual(expandText('${A}', { A: '' }), { text: '', expanded: true });
  assert.deepEqual(expandText('${A:-file:/x}', {}), { text: 'file:/x', expanded: true });
});

test('a text is from outside as soon as a part of it is, whatever comes after', () => {
  assert.deepEqual(expandText('${A}-$${B}', { A: 'secret' }), { text: 'secret-${B}', expanded: true });
  assert.deepEqual(expandText('$${A}', { A: 'secret' }), { text: '${A}', expanded: false });
});

test('what every object has is no variable of the environment', () => {
  const problem =
    'the environment variable constructor is not set; set it or, unless it is a secret, write ${constructor:-default}';
  assert.deepEqual(expandText('${constructor}', {}), { problem });
});

test('one reference inside another is told as such', () => {
  const problem = 'a "${…}" must not stand inside another one';
  assert.deepEqual(expandText('${A:-${B}}', { A: 'a', B: 'b' }), { problem });
});

test('a file loses its one last line break, that of Windows too', (t) => {
  for (const [content, text] of [
    ['secret\r\n', 'secret'],
    ['secret\n\n', 'secret\n'],
    ['two\nlines\n', 'two\nlines'],
    ['secret', 'secret'],
  ] as const) {
    const file = writeTemporary(t, content, 'secret');
    assert.deepEqual(expandText(`\${file:${file}}`, {}), { text, expanded: true });
  }
});
