import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Stopping } from '../../../src/admin/stopping.ts';
import { memoryUsed } from '../../helpers/collect-garbage.ts';

test('of a request that has been read nothing is kept, however long the gateway runs', async () => {
  const stopping = new Stopping();
  const readMany = async (): Promise<void> => {
    for (let read = 0; read < 10_000; read += 1) await stopping.orStop(async () => read);
  };
  await readMany(); // what is compiled meanwhile stays, too
  const before = memoryUsed();
  await readMany();
  const grown = memoryUsed() - before;
  stopping.begin();
  assert.ok(grown < 500_000, `${grown} bytes`);
});

for (const [name, end] of [
  ['are no longer wanted', 'break'],
  ['come while the gateway stops', 'stop'],
] as const) {
  test(`the source of pieces that ${name} is told, or the rest of the request could not be read past it`, async () => {
    const stopping = new Stopping();
    const { promise: second, resolve: sendSecond } = Promise.withResolvers<void>();
    let isLeft = false;
    async function* source(): AsyncGenerator<number> {
      try {
        yield 1;
        await second;
        yield 2;
      } finally {
        isLeft = true;
      }
    }
    const seen: number[] = [];
    const reading = (async () => {
      for await (const piece of stopping.untilBegun(source())) {
        seen.push(piece);
        if (end === 'break') break;
      }
    })();
    if (end === 'stop') {
      await new Promise(setImmediate);
      stopping.begin();
      await assert.rejects(reading, { message: 'The gateway is stopping' });
      sendSecond();
      await new Promise(setImmediate);
    } else await reading;
    assert.deepEqual([seen, isLeft], [[1], true]);
  });
}
