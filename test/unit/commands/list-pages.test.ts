import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { listPages, type ListFlags } from '../../../src/commands/list-pages.ts';
import type { Terminal } from '../../../src/commands/terminal.ts';

test('a page without what fits, between others or last, is no end and no empty list', async () => {
  assert.deepEqual(await list([['a'], [], ['b'], []]), [0, 'ID\na\nb\n', '']);
});

test('a list of which nothing can be read is not called empty, and to a script nothing is said', async () => {
  assert.deepEqual(await list([['?a']]), [65, '', 'gatehouse: key a cannot be read in the store\n']);
  assert.deepEqual(await list([[]]), [0, '', 'Nothing.\n']);
  assert.deepEqual(await list([[]], { quiet: true }), [0, '', '']);
});

test('no page is read before the one ahead of it is taken', async () => {
  const stdout = Object.assign(new EventEmitter(), { write: () => false });
  const asked: number[] = [];
  const listed = listOn(stdout, [['a'], ['b']], { asked });
  for (const taken of [[0], [0, 1]]) {
    for (let turn = 0; turn < 9; turn += 1) await new Promise(setImmediate);
    assert.deepEqual(asked, taken);
    stdout.emit('drain');
  }
  assert.equal(await listed, 0);
});

async function list(pages: readonly (readonly string[])[], flags: Partial<ListFlags> = {}) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const code = await listOn(stdout, pages, { stderr, flags });
  return [code, await text(stdout.end()), await text(stderr.end())];
}

/** Lists pages, in which `?a` is an item that cannot be read. */
function listOn(
  stdout: unknown,
  pages: readonly (readonly string[])[],
  { stderr = new PassThrough(), flags = {} as Partial<ListFlags>, asked = [] as number[] },
): Promise<number> {
  const terminal = { stdout, stderr } as unknown as Terminal;
  return listPages<string>({ limit: 0, all: true, ...flags }, terminal, {
    nothing: 'Nothing.',
    idOf: String,
    noun: 'key',
    print: (items) => `${['ID', ...items].join('\n')}\n`,
    async read(cursor = '0') {
      const at = Number(cursor);
      asked.push(at);
      const page = pages[at] ?? [];
      return {
        items: page.filter((item) => !item.startsWith('?')),
        unreadable: page.filter((item) => item.startsWith('?')).map((item) => item.slice(1)),
        next: at + 1 < pages.length ? String(at + 1) : null,
      };
    },
  });
}
