import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ExchangeFailed } from '../../../src/upstream/exchange.ts';
import { ClientGone, ResponseTimeout } from '../../../src/upstream/failures.ts';
import { Seats } from '../../../src/upstream/seats.ts';
import { createTargets, type Target } from '../../../src/upstream/targets.ts';

function threeTargets() {
  const targets = createTargets(
    {
      name: 'three',
      targets: ['http://127.0.0.1:1', 'http://127.0.0.1:2', 'http://127.0.0.1:3'],
      timeouts: { connectMs: 1000, responseMs: 1000, idleMs: 1000 },
      connections: 1,
      health: undefined,
      preserveHost: false,
      ca: undefined,
    },
    {
      setAside: () => undefined,
      usedAgain: () => undefined,
      unhealthy: () => undefined,
      healthyAgain: () => undefined,
    },
  );
  const [one, two, three] = targets.all as [Target, Target, Target];
  /** Which come next, in their order of numbers. */
  const turns = (count: number, unreached?: ReadonlySet<Target>): string[] =>
    Array.from({ length: count }, () => targets.next(unreached).url.port).toSorted();
  return { one, two, three, turns };
}

function setAside(target: Target): void {
  target.setAside(new Error('away'));
}

function takeSeat({ seats }: Target): void {
  seats.take({ hasSeat: false, spot: undefined, turnAway: assert.fail }, () => undefined);
}

test('targets take turns, and the turns of one that is passed over are shared by all others', () => {
  const { one, two, turns } = threeTargets();
  assert.deepEqual(turns(6), ['1', '1', '2', '2', '3', '3']);
  assert.deepEqual(turns(4, new Set([two])), ['1', '1', '3', '3']);
  assert.deepEqual(turns(3, new Set([one, two])), ['3', '3', '3']);
});

test('a target whose connections are all in use is passed over, and where all are, that with the shortest line has its turn', () => {
  const { one, two, three, turns } = threeTargets();
  takeSeat(two);
  assert.deepEqual(turns(4), ['1', '1', '3', '3']);
  for (const target of [one, one, two, three, three]) takeSeat(target);
  assert.deepEqual(turns(3), ['1', '2', '3']);
  takeSeat(one);
  takeSeat(two);
  assert.deepEqual(turns(3), ['3', '3', '3']);
});

test('the line of each target is looked at once for a choice', (t) => {
  const { two, turns } = threeTargets();
  const ahead = t.mock.getter(Seats.prototype, 'ahead', function countAhead(this: Seats) {
    return this === two.seats ? 1 : 0;
  });
  assert.deepEqual(turns(2), ['1', '3']);
  assert.equal(ahead.mock.callCount(), 6);
});

test('a target that was set aside is used only where all were, the first of them first, and again after two seconds', (t) => {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const { one, two, three, turns } = threeTargets();
  setAside(two);
  assert.deepEqual(turns(4), ['1', '1', '3', '3']);
  takeSeat(one);
  takeSeat(three);
  assert.deepEqual(turns(4), ['1', '1', '3', '3']);
  now = 1000;
  setAside(three);
  now = 1999;
  setAside(one);
  assert.deepEqual(turns(3), ['2', '2', '2']);
  assert.deepEqual(turns(3, new Set([two])), ['3', '3', '3']);
  now = 3000;
  assert.deepEqual(turns(4, new Set([two])), ['3', '3', '3', '3']);
  now = 3999;
  assert.deepEqual(turns(4, new Set([two])), ['1', '1', '3', '3']);
});

test('a target that could not be reached is tried by one at a time until that one has a connection, or had its time', (t) => {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const { one, turns } = threeTargets();
  const ask = () => one.attempt({ resolve: () => undefined, reject: () => undefined });
  setAside(one);
  now = 2000;
  assert.deepEqual(turns(3), ['1', '2', '3']);
  ask();
  assert.deepEqual(turns(4), ['2', '2', '3', '3']);
  now = 5000;
  assert.deepEqual(turns(3), ['1', '2', '3']);
  ask().reject(new ExchangeFailed(new ClientGone()));
  assert.deepEqual(turns(3), ['1', '2', '3']);
  ask().connected();
  ask();
  assert.deepEqual(turns(3), ['1', '2', '3']);
  assert.equal(one.isAway, true, 'nobody has been answered');
});

test('a silent target is tried again once its trial is answered, and not before, though a request from before it fails meanwhile', (t) => {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const { one, turns } = threeTargets();
  const ask = () => one.attempt({ resolve: () => undefined, reject: () => undefined });
  const inVain = new ExchangeFailed(new ResponseTimeout(1000), { sent: true });
  const [first, second] = [ask(), ask()];
  first.reject(inVain);
  now = 2000;
  const trial = ask();
  second.reject(inVain);
  now = 4000;
  assert.deepEqual(turns(4), ['2', '2', '3', '3']);
  trial.begin();
  assert.equal(one.isAway, true);
  assert.deepEqual(turns(3), ['1', '2', '3']);
  ask().begin();
  assert.equal(one.isAway, false);
});
