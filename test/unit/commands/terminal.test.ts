import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { agree, readSecret, type Terminal } from '../../../src/commands/terminal.ts';

const [ctrlC, ctrlD, enter] = ['\u0003', '\u0004', '\r'];

/** A terminal on which these keys are struck. */
function typing(keys: string) {
  const modes: boolean[] = [];
  const setRawMode = (isRaw: boolean) => modes.push(isRaw);
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode });
  const stderr = Object.assign(new PassThrough(), { isTTY: true });
  stdin.write(keys);
  const terminal = { stdin, stdout: new PassThrough(), stderr } as unknown as Terminal;
  return { terminal, modes, said: () => text(stderr.end()) };
}

test('only a yes is a yes: an end of the input is a no, and Ctrl-C ends with its own code', async () => {
  const answers = [
    { keys: `y${enter}`, agreed: true },
    { keys: ` YES ${enter}`, agreed: true },
    { keys: enter, agreed: 1 },
    { keys: `yep${enter}`, agreed: 1 },
    { keys: `nay${enter}`, agreed: 1 },
    { keys: ctrlD, agreed: 1 },
    { keys: ctrlC, agreed: 130 },
    { keys: `y${ctrlC}`, agreed: 130 },
  ];
  for (const { keys, agreed } of answers) {
    const { terminal, said } = typing(keys);
    assert.equal(await agree('Go on?', {}, terminal), agreed, JSON.stringify(keys));
    assert.equal((await said()).endsWith('\nNothing was changed.\n'), agreed !== true);
  }
});

test('a secret is typed unseen, and Ctrl-C is no secret', async () => {
  const secrets = [
    { keys: `s3x\u007Fcret${enter}`, secret: 's3cret' },
    { keys: `s3x\bcret${enter}`, secret: 's3cret' },
    { keys: `s3cret${ctrlD}`, secret: 's3cret' },
    { keys: enter, secret: '' },
    { keys: `s3c${ctrlC}`, secret: undefined },
  ];
  for (const { keys, secret } of secrets) {
    const { terminal, modes, said } = typing(keys);
    assert.equal(await readSecret(terminal, 100), secret, JSON.stringify(keys));
    assert.deepEqual(modes, [true, false]);
    assert.equal(await said(), 'Key (it is not shown): \n');
  }
});

test('a secret is asked for when nothing is echoed any more: a program may type it at once', async (t) => {
  const { terminal, modes } = typing(`s3cret${enter}`);
  const modesWhenSaid: boolean[][] = [];
  t.mock.method(terminal.stderr, 'write', () => modesWhenSaid.push([...modes]) > 0);
  await readSecret(terminal, 100);
  assert.deepEqual(modesWhenSaid[0], [true]);
});

test('a secret that is piped in loses its line break', async () => {
  const { terminal } = typing('');
  const stdin = new PassThrough().end('s3cret\n');
  assert.equal(await readSecret({ ...terminal, stdin } as unknown as Terminal, 100), 's3cret');
});
