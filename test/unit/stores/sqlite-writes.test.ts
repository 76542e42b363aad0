import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import type { Calls } from '../../../src/stores/sqlite/calls.ts';
import { Locked } from '../../../src/stores/sqlite/connection.ts';
import { gatherWrites } from '../../../src/stores/sqlite/gather-writes.ts';
import { createLockLine } from '../../../src/stores/sqlite/lock-line.ts';
import { openSqlite } from '../../../src/stores/sqlite/open-sqlite.ts';
import { transactAll, type Outcome } from '../../../src/stores/sqlite/transact.ts';
import { StoreUnavailable, Unreadable } from '../../../src/stores/store-unavailable.ts';
import { holdUp } from '../../helpers/hold-up.ts';
import { aCounter, aDraw, someUnits, usedOf } from '../../helpers/ledger-orders.ts';
import { ownDatabase, sql } from '../../helpers/sqlite-file.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

/** A table of numbers. */
function aTable(): { database: DatabaseSync; add: (number: number) => () => number; all: () => unknown[] } {
  const database = new DatabaseSync(':memory:');
  database.exec('CREATE TABLE numbers (number)');
  const insert = database.prepare('INSERT INTO numbers VALUES (?)');
  return {
    database,
    add: (number) => () => Number(insert.run(number).changes) * number,
    all: () =>
      database
        .prepare('SELECT number FROM numbers')
        .all()
        .map((row) => row['number']),
  };
}

const fail = (): never => {
  throw new Error('it fails');
};

test('of several that share a transaction one that fails leaves nothing, and the others are written', () => {
  const { database, add, all } = aTable();
  const half = (): number => add(2)() + fail();
  const outcomes = transactAll(database, [add(1), half, add(3)]);
  assert.deepEqual(outcomes, [{ answer: 1 }, { error: new Error('it fails') }, { answer: 3 }]);
  assert.deepEqual(all(), [1, 3]);
  assert.equal(database.isTransaction, false);
});

test('where SQLite takes all of a transaction back, nothing is said to be written', () => {
  const { database, add, all } = aTable();
  const takeBack = (): number => {
    database.exec('ROLLBACK');
    return fail();
  };
  assert.throws(() => transactAll(database, [add(1), takeBack]), /it fails/);
  assert.deepEqual(all(), []);
  assert.throws(() => transactAll(database, [add(1), takeBack, add(3)]), /it fails/);
  assert.deepEqual(all(), []);
});

test('a lock that another holds is asked for once, however many wait for it', (t) => {
  const path = join(tempFolder(t), 'locked.db');
  const [holder, database] = [new DatabaseSync(path), new DatabaseSync(path)];
  t.after(() => [holder, database].forEach((one) => one.close()));
  holder.exec('BEGIN IMMEDIATE');
  const asks = t.mock.method(database, 'exec');
  assert.throws(() => transactAll(database, [() => 1, () => 2]), /locked/);
  assert.equal(asks.mock.callCount(), 1);
});

test('so is one that another holds while it reads the log anew', () => {
  const { database, all } = aTable();
  const recovering = Object.assign(new Error('locked'), { errcode: 261, errstr: 'locked' });
  let tries = 0;
  const meet = (): never => {
    tries += 1;
    throw recovering;
  };
  assert.throws(() => transactAll(database, [meet, meet]), recovering);
  assert.equal(tries, 1);
  assert.deepEqual(all(), []);
});

test('what is asked for in one turn is written together, at most 64 at once, and answered to each', async () => {
  const sizes: number[] = [];
  const runAll = <T>(works: readonly ((calls: Calls) => T)[]): readonly Outcome<T>[] => {
    sizes.push(works.length);
    return works.map((work) => ({ answer: work({} as Calls) }));
  };
  let written = 0;
  const write = gatherWrites({
    connection: { runAll },
    lockLine: createLockLine(250),
    onWritten: (worth) => (written += worth),
  });
  const first = Array.from({ length: 70 }, (_, index) => write(() => index, 2));
  assert.deepEqual(sizes, []);
  assert.deepEqual(
    await Promise.all(first),
    first.map((_, index) => index),
  );
  assert.equal(await write(() => 'later'), 'later');
  assert.deepEqual(sizes, [64, 6, 1]);
  assert.equal(written, 141);
});

test('who needs the lock waits in line, a thousand at most, of whom the first tries, and who only reads goes past them', async (t) => {
  const turn = takeTurns(t);
  const line = createLockLine(60_000);
  await assert.rejects(line.wait(fail), /^Error: it fails$/);
  const done: string[] = [];
  let isLocked = true;
  let tries = 0;
  const first = line.wait(() => {
    tries += 1;
    if (isLocked) throw new Locked();
    done.push('first');
  });
  const others = Array.from({ length: 999 }, () => line.wait(() => done.push('other')));
  await line.bypass(() => done.push('read'));
  await assert.rejects(
    line.wait(() => done.push('one more')),
    { message: 'too many calls wait for the database', mayHaveHappened: false },
  );
  assert.deepEqual(done, ['read']);
  turn();
  assert.equal(tries, 2);
  isLocked = false;
  while (done.length <= 1000) turn();
  await Promise.all([first, ...others]);
  assert.deepEqual(done, ['read', 'first', ...others.map(() => 'other')]);
});

test('those who have waited are worked on for a moment, and then others have a turn', async (t) => {
  const turn = takeTurns(t);
  const line = createLockLine(60_000);
  let isLocked = true;
  const works = Array.from({ length: 10 }, () =>
    line.wait(() => {
      if (isLocked) throw new Locked();
      holdUp(1);
      done += 1;
    }),
  );
  isLocked = false;
  let done = 0;
  turn();
  assert.ok(done > 0 && done < 5, `${done} at once`);
  while (done < works.length) turn();
  await Promise.all(works);
});

/** Returns what lets those who wait for the lock have their next turn. */
function takeTurns(t: TestContext): () => void {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  t.mock.method(Math, 'random', () => 0);
  return () => t.mock.timers.tick(1);
}

test('a key whose usage cannot be counted harms no other that is counted together with it', async (t) => {
  const { path, store } = ownDatabase(t);
  const { ledger } = store;
  const counters = [aCounter({})];
  const draw = (keyId: string): Promise<unknown> => ledger.draw(aDraw({ counters, keyId }));
  await draw('damaged');
  sql(path, 'UPDATE counters SET used = 1 << 60').close();
  const [one, damaged, other] = await Promise.allSettled([draw('one'), draw('damaged'), draw('other')]);
  assert.deepEqual([one.status, damaged.status, other.status], ['fulfilled', 'rejected', 'fulfilled']);
  assert.ok(damaged.status === 'rejected' && damaged.reason instanceof Unreadable);
  assert.equal(await usedOf(ledger, counters, 'one'), '1');
  assert.equal(await usedOf(ledger, counters, 'other'), '1');
});

test('usage that cannot be set in all of its counters is set in none', async (t) => {
  const { path, store } = ownDatabase(t);
  const counters = ['one', 'two'].map((name) => aCounter({ name }));
  await store.ledger.draw(aDraw({ counters: counters.slice(0, 1) }));
  const never = "WHEN new.name = 'two' BEGIN SELECT RAISE(ABORT, 'never'); END";
  sql(path, `CREATE TRIGGER never BEFORE INSERT ON counters ${never}`).close();
  await assert.rejects(store.ledger.setUsage({ keyId: 'key', counters, spent: 7 }), StoreUnavailable);
  assert.equal(await usedOf(store.ledger, counters), '1 0');
});

test('who stays for no time hears of it when no place can be written', async (t) => {
  const { path, store } = ownDatabase(t);
  const order = { keyId: 'key', placeId: 'nobody', expiresInMs: 0 };
  await store.ledger.stay(order);
  const full = "BEGIN SELECT RAISE(ABORT, 'full'); END";
  sql(path, `CREATE TRIGGER never BEFORE INSERT ON places ${full}`).close();
  await assert.rejects(store.ledger.stay(order), StoreUnavailable);
});

test('what was asked for before a store was closed is written', async (t) => {
  const path = join(tempFolder(t), 'g.db');
  const counters = [aCounter({})];
  const store = openSqlite(path);
  const charged = store.ledger.charge(someUnits({ counters, units: 3 }));
  await Promise.all([charged, store.close()]);
  assert.ok(!existsSync(`${path}-wal`), 'and the file is not opened once more');
  const again = openSqlite(path);
  t.after(() => again.close());
  assert.equal(await usedOf(again.ledger, counters), '3');
});
