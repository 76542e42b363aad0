import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Outbox, repeatableForEver, type Step } from '../../../../src/quota/leases/outbox.ts';
import { StoreUnavailable, Unreadable } from '../../../../src/stores/store-unavailable.ts';
import { settle as runReady } from '../../../helpers/turnable-clock.ts';

function createScene(stepsMax = 100) {
  const scene = {
    now: 0,
    isDown: false,
    mayHaveHappened: true,
    taken: [] as string[],
    ended: [] as string[],
    errors: [] as unknown[],
  };
  const outbox = new Outbox({
    mono: () => scene.now,
    stepsMax,
    onError: (error) => scene.errors.push(error),
  });
  const step = (name: string, expendable: Step['expendable'] = 'next'): Step => ({
    end: () => void scene.ended.push(name),
    expendable,
    repeatableForMs: expendable === 'never' ? repeatableForEver : 1000,
    run: () => {
      scene.taken.push(name);
      const error = new StoreUnavailable('down', { mayHaveHappened: scene.mayHaveHappened });
      return scene.isDown ? Promise.reject(error) : Promise.resolve();
    },
  });
  return { scene, outbox, step };
}

test('what the store did not take is tried one at a time, and all of it once the store answers', async () => {
  const { scene, outbox, step } = createScene();
  scene.isDown = true;
  outbox.post(step('a'));
  await runReady();
  outbox.post(step('b'));
  outbox.post(step('c'));
  outbox.retry();
  await runReady();
  assert.equal(scene.taken.length, 2, 'one step asks whether the store is back');
  scene.isDown = false;
  outbox.retry();
  await runReady();
  assert.equal(outbox.size, 0);
  assert.equal(outbox.dropped, 0);
});

test('at most 64 steps are under way at once, also while each answer to others starts one more', async () => {
  const { outbox, step } = createScene(1000);
  const answered = Promise.withResolvers<void>();
  let running = 0;
  const run = async (): Promise<void> => {
    running += 1;
    await answered.promise;
  };
  for (let nth = 0; nth < 200; nth += 1) outbox.post({ ...step('slow'), run });
  assert.equal(running, 64);
  outbox.storeFailed();
  outbox.storeAnswered();
  assert.equal(running, 64);
  answered.resolve();
  await outbox.flush();
  assert.deepEqual([running, outbox.size], [200, 0]);
});

test('how long a step may be taken again counts from when it may first have been taken', async () => {
  const { scene, outbox, step } = createScene();
  scene.isDown = true;
  outbox.post(step('a'));
  for (const now of [0, 600, 1200]) {
    scene.now = now;
    outbox.retry();
    await runReady();
  }
  assert.deepEqual([scene.taken, outbox.dropped, outbox.size], [['a', 'a'], 1, 0]);
});

test('after an outage that left nothing waiting, what is posted goes at once', async () => {
  const { scene, outbox, step } = createScene();
  outbox.storeFailed();
  outbox.storeAnswered();
  assert.equal(outbox.down, false);
  outbox.post(step('a'));
  await runReady();
  assert.deepEqual(scene.taken, ['a']);
});

test('a full outbox drops no units for what moves none, and that before any units', async () => {
  const { scene, outbox, step } = createScene(3);
  scene.isDown = true;
  outbox.storeFailed();
  outbox.post(step('give back'));
  outbox.post(step('tell', 'first'));
  outbox.post(step('give back more'));
  outbox.post(step('tell more', 'first'));
  outbox.post(step('give back the rest'));
  outbox.post(step('tell it all', 'first'));
  assert.equal(outbox.sizeWithUnits, 3);
  scene.isDown = false;
  await outbox.flush();
  assert.deepEqual(scene.taken, ['give back', 'give back more', 'give back the rest']);
  assert.equal(outbox.dropped, 0, 'no units are lost');
});

test('once what moves no units is gone, a full outbox drops units that would come back again', async () => {
  const { scene, outbox, step } = createScene(1);
  outbox.post(step('tell', 'first'));
  await runReady();
  scene.isDown = true;
  outbox.post(step('give back'));
  await runReady();
  outbox.post(step('charge', 'never'));
  assert.deepEqual([outbox.size, outbox.dropped], [1, 1]);
});

test('while a step asks whether the store is back, no other does', async () => {
  const { scene, outbox, step } = createScene();
  const answer = Promise.withResolvers<void>();
  outbox.storeFailed();
  outbox.post({ ...step('slow'), run: () => (scene.taken.push('slow'), answer.promise) });
  outbox.post(step('next'));
  outbox.retry();
  outbox.retry();
  await runReady();
  assert.deepEqual(scene.taken, ['slow']);
  answer.resolve();
  await runReady();
  assert.deepEqual(scene.taken, ['slow', 'next']);
});

test('while a part of the store is away, each answer of the rest has one step tried, and none twice before all are tried again', async () => {
  const { scene, outbox, step } = createScene();
  const answer = async (times: number): Promise<number> => {
    const before = scene.taken.length;
    for (let nth = 0; nth < times; nth += 1) {
      outbox.storeAnswered();
      await runReady();
    }
    return scene.taken.length - before;
  };
  scene.isDown = true;
  outbox.storeFailed();
  for (let nth = 0; nth < 20; nth += 1) outbox.post(step(`ill ${nth}`));
  assert.equal(await answer(1), 1);
  assert.equal(await answer(100), 19);
  outbox.post({ ...step('well'), run: async () => void scene.taken.push('well') });
  assert.equal(await answer(1), 1);
  assert.equal(scene.taken.at(-1), 'well', 'it waits for none of the others');
  outbox.retry();
  await runReady();
  assert.equal(scene.taken.length, 41, 'all are tried again');
  outbox.retry();
  await runReady();
  outbox.post({ ...step('well too'), run: async () => void scene.taken.push('well too') });
  const tried = scene.taken.length;
  outbox.storeAnswered();
  assert.equal(scene.taken[tried], 'well too', 'nor for those that are due once more');
  scene.isDown = false;
  outbox.retry();
  await runReady();
  assert.deepEqual([outbox.size, outbox.dropped], [0, 0]);
});

test('steps that a part of the store refuses at once delay none for the rest: an answer of it has many tried that are new', async () => {
  const { scene, outbox, step } = createScene(300);
  scene.isDown = true;
  scene.mayHaveHappened = false;
  outbox.storeFailed();
  for (let nth = 0; nth < 20; nth += 1) outbox.post(step(`ill ${nth}`));
  outbox.post({ ...step('well'), run: async () => void scene.taken.push('well') });
  outbox.storeAnswered();
  await runReady();
  assert.deepEqual([scene.taken.length, scene.taken.at(-1)], [21, 'well']);
  outbox.storeFailed();
  outbox.retry();
  await runReady();
  assert.equal(scene.taken.length, 22, 'what was refused asks one at a time');
  for (let nth = 0; nth < 200; nth += 1) outbox.post(step(`more ${nth}`));
  for (const goOn of [() => outbox.storeAnswered(), () => outbox.retry(), () => outbox.storeAnswered()]) {
    const tried: number = scene.taken.length;
    goOn();
    await runReady();
    assert.equal(scene.taken.length - tried, 65, 'nothing else happens meanwhile, so there is an end to it');
  }
});

test('while the store is away the steps take turns to ask whether it is back', async () => {
  const { scene, outbox, step } = createScene();
  scene.isDown = true;
  for (const name of ['a', 'b', 'c']) outbox.post(step(name));
  await runReady();
  scene.taken = [];
  for (let turn = 0; turn < 6; turn += 1) {
    outbox.retry();
    await runReady();
  }
  assert.equal(scene.taken.join(''), 'abcabc');
});

test('steps that are too old keep nobody from asking whether the store is back', async () => {
  const { scene, outbox, step } = createScene();
  scene.isDown = true;
  for (let nth = 0; nth < 20; nth += 1) outbox.post(step(`give back ${nth}`));
  outbox.post(step('charge', 'never'));
  await runReady();
  scene.now = 2000;
  scene.isDown = false;
  scene.taken = [];
  outbox.retry();
  await runReady();
  assert.deepEqual([scene.taken, outbox.size], [['charge'], 0]);
});

test('keys of which every step was dropped keep nobody from asking whether the store is back', async () => {
  const { scene, outbox, step } = createScene(4);
  scene.isDown = true;
  for (let nth = 0; nth < 4; nth += 1) outbox.post(step(`give back ${nth}`));
  await runReady();
  for (let nth = 0; nth < 3; nth += 1) outbox.post(step(`charge ${nth}`, 'never'));
  for (let nth = 0; nth < 3; nth += 1) {
    outbox.storeAnswered();
    await runReady();
  }
  scene.isDown = false;
  scene.taken = [];
  outbox.retry();
  await runReady();
  assert.deepEqual([scene.taken.length, outbox.size], [4, 0]);
});

test('a step has ended once it cannot come again: when it was taken or dropped, or was surely not taken', async () => {
  const { scene, outbox, step } = createScene(3);
  scene.isDown = true;
  outbox.post(step('in doubt'));
  await runReady();
  outbox.post(step('cancel'), 0);
  scene.mayHaveHappened = false;
  outbox.post(step('refused'));
  outbox.retry();
  await runReady();
  outbox.storeAnswered();
  await runReady();
  assert.deepEqual(scene.taken.slice(1), ['cancel', 'refused', 'in doubt']);
  assert.deepEqual(scene.ended, ['refused']);
  outbox.post(step('charge', 'never'));
  assert.deepEqual(scene.ended.slice(1), ['cancel']);
  scene.isDown = false;
  await outbox.flush();
  assert.deepEqual(scene.ended.slice(2).toSorted(), ['charge', 'in doubt', 'refused']);
});

test('a full outbox drops units that would come back, of those that failed too, and never units that are owed', async () => {
  const { scene, outbox, step } = createScene(2);
  scene.isDown = true;
  outbox.post(step('give back'));
  outbox.post(step('give back more'));
  await runReady();
  outbox.post(step('charge', 'never'));
  outbox.post(step('charge more', 'never'));
  outbox.post(step('give back the rest'));
  scene.isDown = false;
  scene.taken = [];
  await outbox.flush();
  assert.deepEqual(scene.taken, ['charge', 'charge more']);
  assert.equal(outbox.dropped, 3);
});

test('a step that surely did not happen is repeated however late it is', async () => {
  const { scene, outbox, step } = createScene();
  scene.isDown = true;
  scene.mayHaveHappened = false;
  outbox.post(step('late'));
  await runReady();
  scene.now = 100_000;
  scene.isDown = false;
  await outbox.flush();
  assert.deepEqual(scene.taken, ['late', 'late']);
});

test('an error that is no outage is told and ends the step', async () => {
  const { scene, outbox, step } = createScene();
  outbox.post({ ...step('faulty'), run: () => Promise.reject(new TypeError('a fault')) });
  await runReady();
  assert.equal(outbox.size, 0);
  assert.equal(scene.errors.length, 1);
});

test('a step that a spoilt counter cannot take waits by itself: the store is there, and other steps go at once', async () => {
  const { scene, outbox, step } = createScene();
  let spoilt = true;
  let tries = 0;
  outbox.post({
    ...step('charge', 'never'),
    run: () => {
      tries += 1;
      return spoilt ? Promise.reject(new Unreadable('spoilt')) : Promise.resolve();
    },
  });
  await runReady();
  assert.equal(tries, 1, 'it is not tried again and again');
  assert.equal(outbox.size, 1);
  assert.equal(outbox.down, false);
  outbox.post(step('another'));
  await runReady();
  assert.deepEqual(scene.taken, ['another']);
  outbox.storeFailed();
  outbox.retry();
  await runReady();
  assert.deepEqual([tries, outbox.down], [2, false]);
  spoilt = false;
  await outbox.flush();
  assert.equal(outbox.size, 0, 'once it is mended, nothing is lost');
  assert.deepEqual(scene.errors, []);
});

test('a full outbox drops units that a spoilt counter does not take back for those that are owed', async () => {
  const { scene, outbox, step } = createScene(1);
  outbox.post({ ...step('spoilt'), run: () => Promise.reject(new Unreadable('spoilt')) });
  await runReady();
  outbox.post(step('charge', 'never'));
  await runReady();
  assert.deepEqual([scene.taken, outbox.size, outbox.dropped], [['charge'], 0, 1]);
});
