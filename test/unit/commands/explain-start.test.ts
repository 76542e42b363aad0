import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { explainStart } from '../../../src/commands/explain-start.ts';
import { CannotStart } from '../../../src/commands/workers/worker-end.ts';
import type { Config } from '../../../src/config/config.ts';

const config = {
  listen: { host: '127.0.0.1', port: 8080 },
  admin: { listen: { host: 'admin.test', port: 9090 }, tokens: [] },
} as unknown as Config;

function explained(t: TestContext, error: unknown): readonly [number, string] {
  const said: string[] = [];
  const { mock } = t.mock.method(process.stderr, 'write', (text: string) => void said.push(text));
  try {
    return [explainStart(error, config), said.join('')];
  } finally {
    mock.restore();
  }
}

function failedTo(syscall: string, over: object): Error {
  return Object.assign(new Error('the system says why'), { syscall, ...over });
}

test('a worker that said why it cannot start is not spoken for, nor is one that Ctrl-C ended', (t) => {
  assert.deepEqual(explained(t, new CannotStart({ code: 78, signal: null })), [78, '']);
  assert.deepEqual(explained(t, new CannotStart({ code: null, signal: 'SIGINT' })), [130, '']);
  assert.deepEqual(explained(t, new CannotStart({ code: null, signal: 'SIGTERM' })), [
    143,
    'gatehouse: the first worker was ended by SIGTERM while it started\n',
  ]);
  const [code, said] = explained(t, new CannotStart({ code: null, signal: 'SIGKILL' }));
  assert.equal(code, 70);
  assert.match(said, /ended by SIGKILL while it started: is there enough memory/);
  assert.deepEqual(explained(t, new CannotStart({ code: null, signal: 'SIGKILL' }, true)), [
    70,
    'gatehouse: the first worker took too long to start and was killed\n',
  ]);
  assert.match(
    explained(t, new CannotStart({ code: null, signal: 'SIGSEGV' }))[1],
    /ended by SIGSEGV while it started\n$/,
  );
});

const busy: readonly (readonly [string, object, string])[] = [
  [
    'a port of callers at a name, which the system calls by its address,',
    { code: 'EADDRINUSE', address: '127.0.0.9', port: 8080 },
    '127.0.0.1:8080 (listen): another process uses it',
  ],
  [
    'a host without its port',
    { code: 'EACCES', address: '127.0.0.1' },
    '127.0.0.1:8080 (listen): this user may not open it',
  ],
  [
    'the port of operators',
    { code: 'EADDRINUSE', address: '127.0.0.1', port: 9090 },
    'admin.test:9090 (admin.listen): another process uses it',
  ],
  [
    'a name of operators',
    { code: 'ENOTFOUND', hostname: 'admin.test' },
    'admin.test:9090 (admin.listen): the host name is unknown',
  ],
  [
    'a name of callers that no resolver answers for',
    { code: 'EAI_AGAIN', hostname: '127.0.0.1' },
    '127.0.0.1:8080 (listen): no resolver says what its host name means, an address needs none',
  ],
  [
    'an address that is none for a reason of its own',
    { code: 'ENETDOWN', address: '127.0.0.1', port: 8080 },
    '127.0.0.1:8080 (listen): the system says why',
  ],
  [
    'an address of a process that may open few files',
    { code: 'EMFILE', address: '127.0.0.1', port: 8080 },
    '127.0.0.1:8080 (listen): this process may open no more files (ulimit -n)',
  ],
  [
    'an address of a family that the system was started without',
    { code: 'EAFNOSUPPORT', address: '127.0.0.1', port: 8080 },
    '127.0.0.1:8080 (listen): this machine has no IPv6',
  ],
];
for (const [name, over, says] of busy) {
  test(`${name} that cannot be opened is named as the configuration has it`, (t) => {
    assert.deepEqual(explained(t, failedTo('listen', over)), [69, `gatehouse: cannot listen on ${says}\n`]);
  });
}

test('a start that may open no more files says so, whatever it would have opened', (t) => {
  assert.deepEqual(explained(t, failedTo('open', { code: 'EMFILE' })), [
    69,
    'gatehouse: this process may open no more files (ulimit -n)\n',
  ]);
});

test('a process that cannot be made is told of, and what is no failure of a start is thrown on', (t) => {
  const [code, said] = explained(t, failedTo('spawn node', {}));
  assert.deepEqual(
    [code, said],
    [69, 'gatehouse: no process can be made for a worker: the system says why\n'],
  );
  for (const fault of [failedTo('read', { code: 'EIO' }), new TypeError('x is no function')])
    assert.throws(() => explained(t, fault), fault);
});
