import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { Writable, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { gatherPieces } from '../../../src/wire/gather-pieces.ts';
import { memoryUsed } from '../../helpers/collect-garbage.ts';
import { listen } from '../../helpers/listen.ts';
import { until, type Scene } from '../../helpers/poll.ts';
import { createRandom, type Random } from '../../helpers/random.ts';

const count = 8000;
const inOnePacket = (socket: Socket): unknown => socket.write('1\r\nx\r\n'.repeat(count));
const waysToSend = {
  'in one packet': inOnePacket,
  'each in a packet of its own': async (socket: Socket) => {
    for (let sent = 0; sent < count; sent += 1) {
      socket.write('1\r\nx\r\n');
      await nextTurn();
    }
  },
};
for (const [way, send] of Object.entries(waysToSend)) {
  test(`an answer in chunks of one byte, ${way}, takes little more than its bytes while nobody reads it`, async (t) => {
    const { socket, answer } = await openAnswer(t);
    const before = memoryUsed();
    const alreadyRead = answer.socket.bytesRead;
    await send(socket);
    await until(() => answer.socket.bytesRead === alreadyRead + 6 * count);
    const grownBytes = memoryUsed() - before;
    assert.ok(grownBytes < 75 * count, `${grownBytes} bytes`);
    socket.end(`3\r\nend\r\n0\r\n\r\n`);
    assert.equal(await readBy.loop(answer, () => 0), `${'x'.repeat(count)}end`);
  });
}

const seeds = Number(process.env['FUZZ_ROUNDS'] ?? 8);

/** Ways to read a stream that takes its time now and then. Each resolves to the text of it. */
const readBy = {
  async loop(stream: Readable, random: Random): Promise<string> {
    let text = '';
    for await (const chunk of stream) {
      text += String(chunk);
      if (random() < 0.3) await nextTurn();
    }
    return text;
  },
  async events(stream: Readable, random: Random): Promise<string> {
    let text = '';
    stream.on('data', (chunk: Buffer) => {
      text += String(chunk);
      if (random() < 0.7) return;
      stream.pause();
      setImmediate(() => stream.resume());
    });
    await once(stream, 'end');
    return text;
  },
  async pipe(stream: Readable, random: Random): Promise<string> {
    let text = '';
    const taker = new Writable({
      highWaterMark: 100,
      write(chunk: Buffer, _encoding, done) {
        text += String(chunk);
        if (random() < 0.5) done();
        else setImmediate(done);
      },
    });
    await pipeline(stream, taker);
    return text;
  },
};
for (const [way, read] of Object.entries(readBy)) {
  test(`nothing is lost or held back, whatever comes and goes in whatever pieces: ${way}`, async (t) => {
    for (let seed = 1; seed <= seeds; seed += 1) {
      const random = createRandom(seed);
      const { socket, answer } = await openAnswer(t);
      const reading = read(answer, random);
      let sent = '';
      for (let packets = 0; packets < 100; packets += 1) {
        const chunks = Array.from({ length: 1 + 5 * random() }, () => 'x'.repeat(1 + 60_000 * random() ** 8));
        for (const chunk of chunks) {
          sent += chunk;
          socket.write(`${chunk.length.toString(16)}\r\n${chunk}\r\n`);
        }
        if (random() < 0.5) await nextTurn();
      }
      const all = sent;
      let text: string | undefined;
      void reading.then((whole) => (text = whole));
      socket.end('0\r\n\r\n');
      await until(() => text !== undefined);
      assert.equal(text, all, `seed ${seed}`);
    }
  });
}

/** An answer that has begun, and the socket on which more of it is sent. */
async function openAnswer(t: Scene): Promise<{ readonly socket: Socket; readonly answer: IncomingMessage }> {
  const server = createServer((socket) => {
    socket.setNoDelay(true).once('data', () => socket.write(head));
    t.after(() => void socket.destroy());
  });
  const asked = get({ port: await listen(t, server), host: '127.0.0.1', agent: false });
  const [socket] = (await once(server, 'connection')) as [Socket];
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  gatherPieces(answer);
  return { socket, answer };
}

const head = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
