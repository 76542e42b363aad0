import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { hearSignals } from '../../../src/commands/signals.ts';

const kinds = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

for (const { title, signals, code } of [
  { title: 'a signal and its echo', signals: ['SIGINT 0', 'SIGINT 100'], code: undefined },
  { title: 'a terminal that is closed', signals: ['SIGHUP 0', 'SIGHUP 100', 'SIGHUP 900'], code: undefined },
  { title: 'the same signal again', signals: ['SIGINT 0', 'SIGINT 900'], code: 130 },
  { title: 'another signal', signals: ['SIGINT 0', 'SIGTERM 100'], code: 143 },
  { title: 'a signal behind a SIGHUP', signals: ['SIGHUP 0', 'SIGINT 100'], code: 130 },
  { title: 'one who goes on asking', signals: ['SIGINT 0', 'SIGTERM 100', 'SIGINT 900'], code: 143 },
]) {
  test(`${title} ${code === undefined ? 'asks the process to stop' : 'ends it at once'}`, async (t) => {
    let now = 0;
    t.mock.method(performance, 'now', () => now);
    const codes: unknown[] = [];
    t.mock.method(process, 'exit', (exitCode: unknown) => codes.push(exitCode));
    hearAlone(t);
    const terminal = { isOpen: true };
    const { stopAsked, whenReload, lastly } = hearSignals(() => terminal.isOpen);
    whenReload(() => codes.push('a reload'));
    terminal.isOpen = false;
    const said: string[] = [];
    for (const what of ['the last word', 'more']) lastly(async (by) => void said.push(`${by}: ${what}`));
    for (const [kind = '', at] of signals.map((each) => each.split(' '))) {
      now = Number(at);
      process.emit(kind as NodeJS.Signals);
    }
    assert.equal(await stopAsked, signals[0]?.split(' ')[0]);
    await setImmediate();
    const by = signals[1]?.split(' ')[0];
    assert.deepEqual(
      [codes, said],
      code === undefined ? [[], []] : [[code], [`${by}: more`, `${by}: the last word`]],
    );
  });
}

for (const { title, hasTerminal } of [
  { title: 'without a terminal', hasTerminal: false },
  { title: 'while its terminal is open', hasTerminal: true },
]) {
  test(`SIGHUP ${title} asks for the configuration to be read anew, and for nothing else`, async (t) => {
    hearAlone(t);
    const { stopAsked, whenReload } = hearSignals(() => hasTerminal);
    process.emit('SIGHUP');
    process.emit('SIGHUP');
    let reloads = 0;
    whenReload(() => void (reloads += 1));
    assert.equal(reloads, 1, 'those that came while nobody listened are heard once');
    process.emit('SIGHUP');
    process.emit('SIGHUP');
    process.emit('SIGTERM');
    assert.equal(await stopAsked, 'SIGTERM');
    process.emit('SIGHUP');
    assert.equal(reloads, 3, 'it is no time to reload');
  });
}

test('a SIGHUP that nobody listened to is forgotten once the process is to stop', async (t) => {
  hearAlone(t);
  const { whenReload } = hearSignals(() => false);
  process.emit('SIGHUP');
  process.emit('SIGTERM');
  whenReload(() => assert.fail('it is no time to reload'));
});

/** Those who listen to the signals of the process, as the runner of the tests does, hear nothing until the test is over. */
function hearAlone(t: TestContext): void {
  const others = kinds.map((kind) => ({ kind, listeners: process.rawListeners(kind) }));
  const silence = (): void => kinds.forEach((kind) => process.removeAllListeners(kind));
  silence();
  t.after(() => {
    silence();
    for (const { kind, listeners } of others) {
      for (const listener of listeners) process.on(kind, listener as NodeJS.SignalsListener);
    }
  });
}
