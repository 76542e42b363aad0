import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { after, test } from 'node:test';
import { until, type Scene } from '../helpers/poll.ts';
import { createRandom } from '../helpers/random.ts';
import { exchange, openRaw, requestBytes } from '../helpers/raw-socket.ts';
import { startRawUpstream, type RawScript } from '../helpers/raw-upstream.ts';
import { demoKey, startGateway } from '../helpers/start-gateway.ts';

const whole = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const answerWhole: RawScript = (socket) => void socket.write(whole);

const upstream = await startRawUpstream({ after }, answerWhole);
const methods = ['GET', 'POST', 'HEAD'];
const gateway = await startGateway(
  { after },
  {
    upstreams: {
      patient: { targets: [upstream.url], timeouts: { connect: '10s', response: '10s', idle: '10s' } },
      hasty: { targets: [upstream.url], timeouts: { connect: '10s', response: '500ms', idle: '500ms' } },
    },
    versions: { v1: { upstream: 'patient' } },
    routes: [
      { path: '/v1/*', methods, body: { any: {} } },
      { path: '/v1/hasty/*', methods, body: { any: {} }, upstream: 'hasty' },
    ],
  },
);

/** What the client may see: one of these statuses with this body, or a transfer that is visibly broken. */
interface Seen {
  readonly status: number | 'cut';
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

async function ask(t: Scene, method = 'GET', path = '/v1/thing'): Promise<Seen> {
  const raw = await openRaw(t, gateway.port, { methods: [method] });
  raw.write(requestBytes(`${method} ${path}`, [['apiKey', demoKey]]));
  const final = (await raw.responses(1)).find(({ status }) => status >= 200);
  raw.socket.destroy();
  if (final === undefined) return { status: 'cut', text: '', headers: {} };
  return {
    status: final.complete ? final.status : 'cut',
    text: final.text,
    headers: final.headers,
  };
}

/** After every nonsense: the same process, and a right answer for the next and the one after. */
async function stillServes(t: Scene): Promise<void> {
  upstream.script = answerWhole;
  assert.equal(gateway.child.exitCode, null, gateway.logText());
  const bytes = requestBytes('GET /v1/next', [['apiKey', demoKey]]);
  for (let i = 0; i < 2; i += 1) {
    const { status, text } = await exchange(t, gateway.port, bytes);
    assert.deepEqual({ status, text }, { status: 200, text: 'ok' });
  }
}

type Wire = string | Buffer | ((socket: Socket) => void);

interface Case {
  readonly name: string;
  readonly wire: Wire;
  readonly method?: string;
  readonly expect: readonly (number | 'cut')[];
  readonly text?: string;
  /** It says nothing, or nothing more: the gateway has to give it up. */
  readonly silent?: true;
}

const head200 = 'HTTP/1.1 200 OK\r\n';
const endless = (piece: string): Wire =>
  function repeat(socket: Socket): void {
    const next = setInterval(() => (socket.destroyed ? clearInterval(next) : socket.write(piece)), 20);
    socket.write(piece);
  };

const thenEnd =
  (bytes: string): Wire =>
  (socket) =>
    void socket.end(Buffer.from(bytes, 'latin1'));

const thenReset =
  (bytes: string): Wire =>
  (socket) =>
    void socket.write(Buffer.from(bytes, 'latin1'), () => setTimeout(() => socket.resetAndDestroy(), 30));

const statusLines: readonly Case[] = [
  ...['000', '099', '600', '999', '1000', '20', '2 0', '-20', 'abc', ''].map((status): Case => ({
    name: `status ${JSON.stringify(status)}`,
    wire: `HTTP/1.1 ${status} Odd\r\nContent-Length: 2\r\n\r\nno`,
    expect: [502],
  })),
  { name: 'a status line without a reason', wire: whole.replace(' OK', ' '), expect: [200], text: 'ok' },
  { name: 'a reason with NUL', wire: whole.replace('OK', 'O\x00K'), expect: [502] },
  { name: 'a reason with a bare CR', wire: whole.replace('OK', 'O\rX-Evil: 1'), expect: [502] },
  { name: 'a reason in latin1', wire: whole.replace('OK', 'Schön \xff'), expect: [200], text: 'ok' },
  { name: 'HTTP/0.9', wire: thenEnd('<html>hello</html>'), expect: [502] },
  { name: 'TLS bytes', wire: Buffer.from([0x15, 3, 3, 0, 2, 2, 40]), expect: [502] },
];

for (const [name, wire, status] of [
  ['a reason with a control character', whole.replace('OK', 'O\x01K'), 502],
  ['a length of 19 digits', whole.replace(': 2', `: ${'2'.padStart(19, '0')}`), 502],
  [
    'a chunk whose size has 16 digits',
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${'2'.padStart(16, '0')}\r\nok\r\n0\r\n\r\n`,
    200,
  ],
] as const) {
  test(`both lanes say the same to ${name}`, async (t) => {
    for (const body of ['small', 'x'.repeat(70_000)]) {
      upstream.script = (socket) => void socket.write(Buffer.from(wire, 'latin1'));
      const answer = await exchange(
        t,
        gateway.port,
        requestBytes('POST /v1/thing', [['apiKey', demoKey]], body),
      );
      assert.equal(answer.status, status, body.slice(0, 5));
    }
    await stillServes(t);
  });
}

test('both lanes pass on more lines of headers than Node counts by itself, and what stands behind them', async (t) => {
  const lines = 2500;
  upstream.script = (socket) => void socket.write(whole.replace('\r\n', `\r\n${'a: b\r\n'.repeat(lines)}`));
  for (const body of ['small', 'x'.repeat(70_000)]) {
    const answer = await exchange(
      t,
      gateway.port,
      requestBytes('POST /v1/thing', [['apiKey', demoKey]], body),
    );
    assert.equal(answer.rawHeaders.filter(([name]) => name === 'a').length, lines, body.slice(0, 5));
    assert.equal(answer.headers['content-length'], '2');
  }
});

const interim: readonly Case[] = [
  ...['100 Continue', '102 Processing', '103 Early Hints\r\nLink: </a>; rel=preload'].map((line): Case => ({
    name: `an unsolicited ${line.slice(0, 3)} before the answer`,
    wire: `HTTP/1.1 ${line}\r\n\r\n${whole}`,
    expect: [200],
    text: 'ok',
  })),
  {
    name: 'an upgrade nobody asked for',
    wire: 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x02hi',
    expect: [502],
  },
  { name: '102 for ever', wire: endless('HTTP/1.1 102 Processing\r\n\r\n'), expect: [504], silent: true },
  { name: '103 and the end', wire: thenEnd('HTTP/1.1 103 Early Hints\r\n\r\n'), expect: [502] },
];

const framing: readonly Case[] = [
  {
    name: 'Content-Length beside chunked',
    wire: `${head200}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`,
    expect: [502],
  },
  {
    name: 'neither length nor coding, then the end',
    wire: thenEnd(`${head200}\r\nok`),
    expect: [200],
    text: 'ok',
  },
  {
    name: 'neither length nor coding, then a reset',
    wire: thenReset(`${head200}\r\nok`),
    expect: ['cut', 502],
  },
  {
    name: 'HTTP/1.0 without a length, then the end',
    wire: thenEnd('HTTP/1.0 200 OK\r\n\r\nok'),
    expect: [200],
    text: 'ok',
  },
];

const bodies: readonly Case[] = [
  {
    name: 'a body shorter than its length, then a reset',
    wire: thenReset(`${head200}Content-Length: 9\r\n\r\nok`),
    expect: ['cut'],
  },
  { name: 'a length and no body', wire: thenEnd(`${head200}Content-Length: 9\r\n\r\n`), expect: ['cut'] },
  {
    name: 'half a chunk',
    wire: thenEnd(`${head200}Transfer-Encoding: chunked\r\n\r\n9\r\nok`),
    expect: ['cut'],
  },
  {
    name: 'a chunk, then a reset',
    wire: thenReset(`${head200}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n`),
    expect: ['cut'],
  },
  {
    name: 'a chunk longer than its size',
    wire: `${head200}Transfer-Encoding: chunked\r\n\r\n1\r\nok\r\n0\r\n\r\n`,
    expect: ['cut', 502],
  },
];

const bodiless: readonly Case[] = [
  {
    name: 'HEAD with a body',
    method: 'HEAD',
    wire: `${head200}Content-Length: 5\r\n\r\nhello`,
    expect: [200],
    text: '',
  },
  {
    name: '205 with a length',
    wire: 'HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n',
    expect: [205],
    text: '',
  },
];

const headers: readonly Case[] = [
  {
    name: 'a header section of 1 MB',
    wire: `${head200}X-Big: ${'v'.repeat(1_000_000)}\r\n\r\n`,
    expect: [502],
  },
  { name: 'headers without end', wire: endless(`${head200}X-Big: ${'v'.repeat(8000)}\r\n`), expect: [502] },
  {
    name: 'headers of 31 KB',
    wire: whole.replace('\r\n', `\r\nX-Big: ${'v'.repeat(31_000)}\r\n`),
    expect: [200],
    text: 'ok',
  },
  { name: 'half a head, then the end', wire: thenEnd('HTTP/1.1 200 OK\r\nContent-Le'), expect: [502] },
  { name: 'half a head, then silence', wire: 'HTTP/1.1 200 OK\r\nContent-Le', expect: [504], silent: true },
  {
    name: 'bytes beyond ASCII in a value',
    wire: `${head200}X-Odd: \xe9\xff\r\nContent-Length: 2\r\n\r\nok`,
    expect: [200],
    text: 'ok',
  },
  {
    name: 'an endless Keep-Alive',
    wire: `${head200}Keep-Alive: timeout=99999999999\r\nContent-Length: 2\r\n\r\nok`,
    expect: [200],
    text: 'ok',
  },
];

const conduct: readonly Case[] = [
  { name: 'silence', wire: () => undefined, expect: [504], silent: true },
  { name: 'an end at once', wire: (socket) => void socket.end(), expect: [502] },
  { name: 'a reset at once', wire: (socket) => void socket.resetAndDestroy(), expect: [502] },
  {
    name: 'an end after the head',
    wire: thenEnd(`${head200}Transfer-Encoding: chunked\r\n\r\n`),
    expect: ['cut'],
  },
  { name: 'a whole answer and a reset', wire: thenReset(whole), expect: [200], text: 'ok' },
  {
    name: 'an answer with a second one behind it',
    wire: `${whole}HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong`,
    expect: [200],
    text: 'ok',
  },
  {
    name: 'an interim answer behind the answer',
    wire: `${whole}HTTP/1.1 103 Early Hints\r\n\r\n`,
    expect: [200],
    text: 'ok',
  },
];

for (const [group, cases] of Object.entries({
  statusLines,
  interim,
  framing,
  bodies,
  bodiless,
  headers,
  conduct,
})) {
  for (const { name, wire, method, expect, text, silent } of cases) {
    test(`${group}: an upstream that answers with ${name} gets an honest ${expect.join(' or ')}`, async (t) => {
      upstream.script = (socket) => {
        if (typeof wire === 'function') wire(socket);
        else socket.write(typeof wire === 'string' ? Buffer.from(wire, 'latin1') : wire);
      };
      const seen = await ask(t, method, silent === true ? '/v1/hasty/thing' : undefined);
      assert.ok(expect.includes(seen.status), `${seen.status} ${JSON.stringify(seen)}`);
      if (text !== undefined) assert.equal(seen.text, text);
      if (seen.status === 502 || seen.status === 504) assert.match(seen.text, /^\{"error":"[^"]+"\}$/);
      await stillServes(t);
    });
  }
}

test('the answer head is cleaned of what concerns the hop, of what its Connection names, and of what only the gateway may say', async (t) => {
  const lines = [
    'Set-Cookie: a=1',
    'Set-Cookie: b=2',
    'Connection: X-Private, keep-alive, Content-Length',
    'X-Private: 1',
    'Keep-Alive: timeout=7',
    'Proxy-Authenticate: Basic',
    'Proxy-Connection: close',
    'Trailer: X-Sum',
    'Upgrade: h2c',
    'TE: trailers',
    'Expect: 100-continue',
    'X-Gatehouse-Key-Id: forged',
    'x_gatehouse_refusal: forged',
    'X-Gatehouse-Refusal: forged',
    'X-Request-Id: forged',
    'X-Request_Id: forged',
    'X-Kept: yes',
    'Content-Encoding: gzip',
    'Content-Length: 2',
  ];
  upstream.script = (socket) => void socket.write(`${head200}${lines.join('\r\n')}\r\n\r\nok`);
  const raw = await openRaw(t, gateway.port);
  raw.write(requestBytes('GET /v1/thing', [['apiKey', demoKey]]));
  const [answer] = await raw.responses(1);
  const ours = answer?.rawHeaders.filter(
    ([name]) => !/^(date|connection|keep-alive|x-request-id)$/i.test(name),
  );
  assert.deepEqual(ours, [
    ['Set-Cookie', 'a=1'],
    ['Set-Cookie', 'b=2'],
    ['X-Kept', 'yes'],
    ['Content-Encoding', 'gzip'],
    ['Content-Length', '2'],
  ]);
  const ids = answer?.rawHeaders.filter(([name]) => /^x.request.id$/i.test(name)) ?? [];
  assert.equal(ids.length, 1);
  assert.match(ids[0]?.[1] ?? '', /^[0-9a-f]{32}$/);
  assert.equal(answer?.headers['keep-alive'], 'timeout=5');
  await stillServes(t);
});

test('what an upstream adds behind an answer is never taken for the answer to the next request', async (t) => {
  const late = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong';
  for (const together of [true, false]) {
    let added = 0;
    const count = (): number => (added += 1);
    upstream.script = (socket, bytes) => {
      const body = /GET \/v1\/(\w+)/.exec(bytes.toString())?.[1] ?? '';
      const answer = `${head200}Content-Length: ${body.length}\r\n\r\n${body}`;
      if (together) socket.write(answer + late, count);
      else
        socket.write(answer, () =>
          setTimeout(() => (socket.destroyed ? count() : socket.write(late, count)), 2),
        );
    };
    const raw = await openRaw(t, gateway.port);
    for (let i = 0; i < 30; i += 1) {
      raw.write(requestBytes(`GET /v1/own${i}`, [['apiKey', demoKey]]));
      const answer = (await raw.responses(i + 1)).at(-1);
      assert.equal(answer?.status, 200, `${together} ${i}`);
      assert.equal(answer.text, `own${i}`);
      // What comes once the next request has left cannot be told from its answer; what came before must be.
      await until(() => added > i);
    }
    raw.socket.destroy();
  }
  await stillServes(t);
});

const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_120);
const rounds = Number(process.env['FUZZ_ROUNDS'] ?? 100);

test(`${rounds} mutated answers (seed ${seed}) end honestly, and the gateway goes on`, async (t) => {
  const random = createRandom(seed);
  for (let round = 0; round < rounds; round += 1) {
    const wire = mutate(validAnswers[Math.floor(random() * validAnswers.length)] ?? '', random);
    upstream.script = (socket) => void socket.end(wire);
    const seen = await ask(t, random() < 0.2 ? 'HEAD' : 'GET');
    const label = `round ${round}: ${JSON.stringify(wire.toString('latin1'))} gave ${JSON.stringify(seen)}`;
    assert.equal(gateway.child.exitCode, null, label);
    assert.ok(seen.status === 'cut' || (seen.status >= 200 && seen.status <= 599), label);
    if (round % 20 === 0) await stillServes(t);
  }
  await stillServes(t);
});

test('after all of it nothing was said on standard error, nothing was a fault of our own, and each request has one line', () => {
  const lines = gateway
    .logText()
    .split('\n')
    .filter((line) => line !== '');
  assert.deepEqual(
    lines.filter((line) => !line.startsWith('{')),
    [],
  );
  const logs = gateway.logs();
  assert.deepEqual(
    logs.filter(({ level, refusal }) => level === 'fatal' || level === 'error' || refusal === 'internal'),
    [],
  );
  // A stack is for surprises, and there are none in what an upstream does.
  assert.deepEqual(
    logs.filter(({ cause }) => Object.hasOwn(cause ?? {}, 'stack')),
    [],
  );
  const ids = logs.flatMap(({ requestId }) => (requestId === undefined ? [] : [requestId]));
  assert.equal(new Set(ids).size, ids.length);
  assert.equal(upstream.sockets.size <= 2, true, `${upstream.sockets.size} connections are left open`);
});

const validAnswers = [
  whole,
  `${head200}Content-Type: text/plain\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nX-Sum: 1\r\n\r\n`,
  `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${whole}`,
  'HTTP/1.1 204 No Content\r\nETag: "a"\r\n\r\n',
  'HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\nKeep-Alive: timeout=3\r\n\r\n',
  'HTTP/1.0 500 Oops\r\nConnection: close\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\n\r\nall of it',
];

const tokens = [
  '\r',
  '\n',
  '\r\n',
  '\0',
  ' ',
  '\t',
  ':',
  ';',
  ',',
  '0',
  '1',
  '-',
  '\xff',
  'HTTP/1.1 ',
  '100',
  '101',
  '204',
  'chunked',
  'Content-Length: 1\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Connection: close\r\n',
  'Upgrade: x\r\n',
];

/** Up to four cuts, doublings, flips and insertions. */
function mutate(text: string, random: () => number): Buffer {
  let bytes = text;
  const at = (): number => Math.floor(random() * (bytes.length + 1));
  for (let i = 0; i <= random() * 4; i += 1) {
    const [from, to] = [at(), at()].toSorted((a, b) => a - b) as [number, number];
    const choice = random();
    if (choice < 0.15) bytes = bytes.slice(0, from) + bytes.slice(Math.min(to, from + 8));
    else if (choice < 0.3) bytes = bytes.slice(0, to) + bytes.slice(from);
    else if (choice < 0.4) bytes = bytes.slice(0, from);
    else if (choice < 0.6)
      bytes = bytes.slice(0, from) + String.fromCharCode(random() * 256) + bytes.slice(from + 1);
    else bytes = bytes.slice(0, from) + tokens[Math.floor(random() * tokens.length)] + bytes.slice(from);
  }
  return Buffer.from(bytes, 'latin1');
}

for (const name of ['日.txt', 'ä.txt', 'ä.txt in Latin-1', 'plain.txt']) {
  test(`the name of a file passes byte for byte: ${name}`, async (t) => {
    const bytes = Buffer.from(name, name.endsWith('Latin-1') ? 'latin1' : 'utf8');
    const disposition = `Content-Disposition: attachment; filename="${bytes.toString('latin1')}"`;
    const head = Buffer.from(`${head200}Content-Length: 2\r\n${disposition}\r\n\r\nok`, 'latin1');
    upstream.script = (socket) => void socket.write(head);
    const raw = await openRaw(t, gateway.port);
    raw.write(requestBytes('GET /v1/thing', [['apiKey', demoKey]]));
    const [answer] = await raw.responses(1);
    assert.deepEqual([answer?.status, answer?.text], [200, 'ok']);
    assert.ok(raw.received().includes(Buffer.from(disposition, 'latin1')), raw.received().toString('latin1'));
  });
}
