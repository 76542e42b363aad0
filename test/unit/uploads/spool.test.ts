import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { closeSync, fstatSync } from 'node:fs';
import { open, readdir, type FileHandle } from 'node:fs/promises';
import { describe, it, type TestContext } from 'node:test';
import { createSpoolRoom, type Spool, type SpoolLimits, type SpoolRoom } from '../../../src/uploads/spool.ts';
import { openFiles } from '../../helpers/open-files.ts';
import { until } from '../../helpers/poll.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

const KB = 1024;

describe('a spool gives back what was written', () => {
  for (const [name, sizes] of Object.entries({
    'nothing at all': [],
    'one small chunk': [10],
    'as much as fits in memory': [32 * KB, 32 * KB],
    'one byte more than fits in memory': [32 * KB, 32 * KB, 1],
    'one large chunk': [300 * KB],
    'many chunks': Array.from({ length: 50 }, (_, index) => 1 + index * 700),
  })) {
    it(name, async (t) => {
      const { room } = await openRoom(t);
      const spool = room.open();
      const chunks = sizes.map((size) => randomBytes(size));
      for (const chunk of chunks) await spool.write(chunk);
      assert.equal(spool.size(), Buffer.concat(chunks).length);
      // Another target follows one that took nothing of the first chunk.
      if (chunks.length > 0) await spool.read().next();
      assert.ok((await readAll(spool)).equals(Buffer.concat(chunks)));
      await spool.close();
    });
  }

  it('in one piece, however small the chunks were', async (t) => {
    const { room } = await openRoom(t);
    const spool = room.open();
    const bytes = randomBytes(1000);
    for (const byte of bytes) await spool.write(Buffer.of(byte));
    assert.deepEqual(await Array.fromAsync(spool.read(), (chunk) => Buffer.from(chunk)), [bytes]);
    await spool.close();
  });

  it('when the system writes less at a time than it is given', async (t) => {
    const { room } = await openRoom(t);
    const spool = room.open();
    const prototype = await fileHandlePrototype();
    const { writev } = prototype;
    t.mock.method(
      prototype,
      'writev',
      async function write(this: FileHandle, [first]: readonly Buffer[], position: number) {
        return await writev.call(this, [first?.subarray(0, 37 * KB) ?? Buffer.alloc(0)], position);
      },
    );
    const chunks = [randomBytes(50 * KB), randomBytes(50 * KB), randomBytes(10 * KB)];
    for (const chunk of chunks) await spool.write(chunk);
    assert.equal(room.diskBytes(), 100 * KB);
    assert.ok((await readAll(spool)).equals(Buffer.concat(chunks)));
    await spool.close();
  });

  it('or nothing, when its file has become shorter', async (t) => {
    const { room } = await openRoom(t);
    const spool = room.open();
    await spool.write(randomBytes(100 * KB));
    t.mock.method(await fileHandlePrototype(), 'read', async () => ({ bytesRead: 0 }), { times: 1 });
    await assert.rejects(readAll(spool), /shorter/);
    await spool.close();
  });

  it('although the memory of the chunk is used again', async (t) => {
    const { room } = await openRoom(t);
    const spool = room.open();
    const chunk = Buffer.from('first');
    await spool.write(chunk);
    chunk.fill('x');
    assert.equal((await readAll(spool)).toString(), 'first');
    await spool.close();
  });
});

describe('a spool leaves nothing behind', () => {
  it('when its file cannot be closed, as on a network file system that is gone', async (t) => {
    const { room, directory } = await openRoom(t);
    const spool = room.open();
    await spool.write(randomBytes(100 * KB));
    for (const fd of filesIn(directory)) closeSync(fd);
    await spool.close();
    assert.equal(room.diskBytes(), 0);
  });

  it('not even a file name while it is open', async (t) => {
    const { room, directory } = await openRoom(t);
    const spool = room.open();
    await spool.write(randomBytes(100 * KB));
    assert.deepEqual(await readdir(directory), []);
    const files = filesIn(directory);
    assert.equal(files.length, 1);
    assert.equal(fstatSync(files[0] ?? -1).mode & 0o777, 0o600, 'for the moment in which it has a name');
    await spool.close();
    assert.deepEqual(filesIn(directory), []);
  });

  it('in memory, but for the piece that goes to its file next', async (t) => {
    const { room } = await openRoom(t);
    const spool = room.open();
    const seen: number[][] = [];
    for (let chunk = 0; chunk < 5; chunk += 1) {
      await spool.write(randomBytes(30 * KB));
      seen.push([room.memoryBytes() / KB, room.diskBytes() / KB]);
    }
    assert.deepEqual(seen, [
      [30, 0],
      [60, 0],
      [60, 90],
      [60, 90],
      [60, 90],
    ]);
    await spool.close();
    assert.deepEqual([room.memoryBytes(), room.diskBytes()], [0, 0]);
  });

  it('once it has been read, not even its buffers', async (t) => {
    const { room, directory } = await openRoom(t);
    const spool = room.open();
    for (const size of [300 * KB, KB]) await spool.write(randomBytes(size));
    const chunks = await Array.fromAsync(spool.read());
    assert.deepEqual(
      chunks.map(({ length }) => length),
      [0, 0, 0],
    );
    // Nobody has closed it.
    await until(() => room.memoryBytes() + room.diskBytes() === 0, { within: 10_000 });
    assert.deepEqual(filesIn(directory), []);
    await assert.rejects(readAll(spool), /closed/);
  });

  it('when it is closed, even twice', async (t) => {
    const { room, directory } = await openRoom(t);
    const spool = room.open();
    for (const size of [100 * KB, KB]) await spool.write(randomBytes(size));
    await Promise.all([spool.close(), spool.close()]);
    assert.deepEqual([room.memoryBytes(), room.diskBytes(), filesIn(directory)], [0, 0, []]);
    await assert.rejects(readAll(spool), /closed/);
  });

  for (const chunks of [[500 * KB], [100 * KB, KB]]) {
    it(`when it is closed while its ${chunks.length === 1 ? 'file' : 'end'} is read`, async (t) => {
      const { room, directory } = await openRoom(t);
      const spool = room.open();
      for (const size of chunks) await spool.write(randomBytes(size));
      const reader = spool.read();
      await reader.next();
      await spool.close();
      await assert.rejects(reader.next(), /closed/);
      assert.deepEqual(filesIn(directory), []);
    });
  }
});

describe('the room of the spools is bounded', () => {
  it('on disk: a file takes its room until it is closed, however often that is asked for', async (t) => {
    const { room } = await openRoom(t);
    const spool = room.open();
    await spool.write(randomBytes(100 * KB));
    const reading = spool.read().next(); // Node closes no file before a read that is under way is over
    const closings = [spool.close(), spool.close()];
    await new Promise<void>((resolve) => process.nextTick(resolve));
    assert.equal(room.diskBytes(), 100 * KB);
    await reading;
    await Promise.all(closings);
    assert.equal(room.diskBytes(), 0);
  });

  it('on disk: what goes beyond is spool_full, and fits again when another has gone', async (t) => {
    const { room } = await openRoom(t, { diskMax: 200 * KB });
    const [first, second] = [room.open(), room.open()];
    await first.write(randomBytes(150 * KB));
    await assert.rejects(second.write(randomBytes(100 * KB)), { code: 'spool_full' });
    await second.close();
    assert.equal(room.diskBytes(), 150 * KB);
    await first.close();
    const third = room.open();
    await third.write(randomBytes(200 * KB));
    await third.close();
    assert.equal(room.diskBytes(), 0);
  });

  it('on disk: one that does not fit makes room for all others at once', async (t) => {
    const { room } = await openRoom(t, { diskMax: 980 * KB });
    assert.equal(await countRefused(t, room), 1);
    assert.equal(room.diskBytes(), 980 * KB);
  });

  for (const code of ['ENOSPC', 'EDQUOT']) {
    it(`and so does one for which the disk itself has no room: ${code}`, async (t) => {
      const { room } = await openRoom(t);
      await boundDisk(t, 980 * KB, code);
      assert.equal(await countRefused(t, room), 1);
      assert.equal(room.diskBytes(), 980 * KB);
    });
  }

  it('in memory: small uploads go to disk when others hold the memory', async (t) => {
    const { room } = await openRoom(t, { pieceMax: 40 * KB, memoryMax: 80 * KB });
    const spools = [room.open(), room.open(), room.open()];
    for (const spool of spools) await spool.write(randomBytes(40 * KB));
    assert.deepEqual([room.memoryBytes(), room.diskBytes()], [80 * KB, 40 * KB]);
    for (const spool of spools) await spool.close();
    assert.deepEqual([room.memoryBytes(), room.diskBytes()], [0, 0]);
  });

  it('in memory: what declares a small length is there whole while there is room, and never in larger pieces', async (t) => {
    const { room } = await openRoom(t, { wholeMax: 200 * KB, memoryMax: 500 * KB });
    const written: { spool: Spool; bytes: Buffer; held: number; filed: number }[] = [];
    for (const declared of [200 * KB, 200 * KB, 201 * KB, undefined, 200 * KB]) {
      const spool = room.open(declared);
      t.after(() => spool.close());
      const [memory, disk] = [room.memoryBytes(), room.diskBytes()];
      const chunks = Array.from({ length: 4 }, () => randomBytes(50 * KB));
      for (const chunk of chunks) await spool.write(chunk);
      const [held, filed] = [(room.memoryBytes() - memory) / KB, (room.diskBytes() - disk) / KB];
      written.push({ spool, bytes: Buffer.concat(chunks), held, filed });
    }
    assert.deepEqual(
      written.map(({ held, filed }) => [held, filed]),
      [
        [200, 0],
        [200, 0],
        [50, 200],
        [50, 200],
        [0, 200],
      ],
    );
    for (const { spool, bytes, filed } of written) {
      const pieces = await Array.fromAsync(spool.read(), (chunk) => Buffer.from(chunk));
      assert.ok(Buffer.concat(pieces).equals(bytes));
      if (filed === 0) assert.ok(pieces.every(({ length }) => length <= 64 * KB));
    }
  });

  it('and a directory that cannot be written is a fault, not a full spool', async (t) => {
    const { room } = await openRoom(t, { directory: '/nonexistent' });
    const spool = room.open();
    await assert.rejects(spool.write(randomBytes(100 * KB)), { code: 'ENOENT' });
    await spool.close();
    assert.equal(room.diskBytes(), 0);
  });

  for (const code of ['ENOSPC', 'EDQUOT', 'EFBIG', 'EMFILE', 'ENFILE']) {
    it(`and ${code} is spool_full`, async (t) => {
      const { room } = await openRoom(t);
      const spool = room.open();
      await spool.write(randomBytes(100 * KB));
      const lack = Object.assign(new Error('no more of it'), { code });
      t.mock.method(await fileHandlePrototype(), 'writev', () => Promise.reject(lack));
      await assert.rejects(spool.write(randomBytes(100 * KB)), { code: 'spool_full' });
      await spool.close();
      assert.equal(room.diskBytes(), 0);
    });
  }
});

/** Writes eight uploads of 200 KB in step with each other, of which 140 KB each go to disk. Returns how many did not fit. */
async function countRefused(t: TestContext, room: SpoolRoom): Promise<number> {
  const refused = new Set<Spool>();
  const spools = Array.from({ length: 8 }, () => room.open());
  for (const spool of spools) t.after(() => spool.close());
  for (let piece = 0; piece < 20; piece += 1) {
    const writing = spools.filter((spool) => !refused.has(spool));
    await Promise.all(
      writing.map((spool) => spool.write(randomBytes(10 * KB)).catch(() => refused.add(spool))),
    );
  }
  return refused.size;
}

/** Lets the files that are open at a time hold no more than this. */
async function boundDisk(t: TestContext, bytesMax: number, code: string): Promise<void> {
  const sizes = new Map<FileHandle, number>();
  const prototype = await fileHandlePrototype();
  t.mock.method(
    prototype,
    'writev',
    async function writev(this: FileHandle, chunks: readonly Buffer[], position: number) {
      const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
      const others = [...sizes].filter(([file]) => file !== this && file.fd !== -1);
      const held = others.reduce((sum, [, size]) => sum + size, 0);
      if (held + position + length > bytesMax) throw Object.assign(new Error('no more of it'), { code });
      sizes.set(this, position + length);
      return { bytesWritten: length };
    },
  );
}

/** Copies each chunk: it is ours only until the next is asked for. */
async function readAll(spool: Spool): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of spool.read()) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

async function openRoom(
  t: TestContext,
  changes: Partial<SpoolLimits> = {},
): Promise<{ room: SpoolRoom; directory: string }> {
  const directory = tempFolder(t);
  const limits = {
    pieceMax: 64 * KB,
    wholeMax: 0,
    memoryMax: 1024 * KB,
    diskMax: 10 * 1024 * KB,
    directory,
    ...changes,
  };
  return { room: createSpoolRoom(limits), directory };
}

/** The descriptors of the files of the directory that this process has open, named or not. */
function filesIn(directory: string): number[] {
  const files = [...openFiles()].filter(([, name]) => name.startsWith(directory));
  return files.map(([fd]) => fd);
}

async function fileHandlePrototype(): Promise<Pick<FileHandle, 'read' | 'writev'>> {
  const handle = await open('/dev/null');
  await handle.close();
  return Object.getPrototypeOf(handle) as Pick<FileHandle, 'read' | 'writev'>;
}
