import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BodyMemory } from '../../../src/bodies/body-memory.ts';
import { readAny } from '../../../src/stages/read-any.ts';
import { collectGarbage } from '../../helpers/collect-garbage.ts';
import { chunksOf } from '../../helpers/form-body.ts';
import { until } from '../../helpers/poll.ts';

const size = 5000;
const memoryBytes = 100_000;

const arrivingBody = () => Object.assign(twentyChunks(), { stop: () => undefined });

/** Each says which it is. */
async function* twentyChunks(): AsyncGenerator<Buffer, void> {
  for (let chunk = 0; chunk < 20; chunk += 1) yield Buffer.alloc(size, chunk);
}

test('the beginning of a body that turns out to be large is let go when it has passed, and no earlier or later', async () => {
  const memory = new BodyMemory(memoryBytes);
  const body = await readAny(arrivingBody(), { contentLength: undefined, sizeMax: 1_000_000, memory });
  assert.ok(body.kind === 'stream');
  const chunks = body.read()[Symbol.asyncIterator]();
  const passed: WeakRef<ArrayBufferLike>[] = [];
  let read = 0;
  async function pass(): Promise<void> {
    const { value } = await chunks.next();
    assert.ok(value);
    assert.equal(value[0], read / size);
    read += value.length;
    passed.push(new WeakRef(value.buffer));
  }
  await pass();
  assert.equal(read, 13 * size, 'what was collected comes in one piece');
  assert.equal(memory.take(memoryBytes - 13 * size + 1), false, 'it is counted until it has passed');
  await pass();
  assert.ok(memory.take(memoryBytes));
  for (let more = 0; more < 3; more += 1) await pass();
  await until(
    () => {
      collectGarbage();
      return passed.slice(0, 4).every((buffer) => buffer.deref() === undefined);
    },
    { within: 5000 },
  );
  await body.release();
  assert.equal(memory.take(1), false, 'nothing is given back twice');
});

test('the beginning of a large body that is given up is given back', async () => {
  const memory = new BodyMemory(memoryBytes);
  const body = await readAny(arrivingBody(), { contentLength: undefined, sizeMax: 1_000_000, memory });
  await body.release();
  await body.release();
  assert.ok(memory.take(memoryBytes));
  assert.equal(memory.take(1), false);
});

for (const framing of ['declared', 'chunked'] as const) {
  test(`a ${framing} body of 64 KB is held, to be sent again where it must be, and one of a byte more is not`, async () => {
    for (const [length, kind] of [
      [64 * 1024, 'bytes'],
      [64 * 1024 + 1, 'stream'],
    ] as const) {
      let stops = 0;
      const arriving = Object.assign(chunksOf(Buffer.alloc(length), 1000), { stop: () => void (stops += 1) });
      const contentLength = framing === 'declared' ? length : undefined;
      const order = { contentLength, sizeMax: length, memory: new BodyMemory(memoryBytes) };
      const body = await readAny(arriving, order);
      assert.equal(body.kind, kind);
      assert.equal(body.length, kind === 'bytes' ? length : contentLength);
      await body.release();
      assert.equal(stops, kind === 'bytes' ? 0 : 1, 'nobody reads on');
    }
  });
}

test('a body may be as large as its limit, whether it says how large it is or not, and no larger', async () => {
  for (const contentLength of [20 * size, undefined]) {
    for (const sizeMax of [20 * size, 20 * size - 1]) {
      const memory = new BodyMemory(memoryBytes);
      const body = await readAny(arrivingBody(), { contentLength, sizeMax, memory });
      assert.ok(body.kind === 'stream');
      const reading = Array.fromAsync(body.read(), ({ length }) => length);
      if (sizeMax < 20 * size) await assert.rejects(reading, { code: 'body_too_large' });
      else
        assert.equal(
          (await reading).reduce((sum, length) => sum + length),
          20 * size,
        );
    }
  }
});

test('the rest of a body for which there is no memory is left to whoever refuses it', async () => {
  const memory = new BodyMemory(3 * size);
  let stops = 0;
  const arriving = Object.assign(twentyChunks(), { stop: () => void (stops += 1) });
  const order = { contentLength: undefined, sizeMax: 1_000_000, memory };
  await assert.rejects(readAny(arriving, order), { code: 'overloaded' });
  assert.equal(stops, 1, 'what still reads it would stop it each time that a chunk comes');
  assert.ok(memory.take(3 * size));
});
