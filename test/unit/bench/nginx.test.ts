import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nginxLua, nginxProxy, nginxUpstream } from '../../../bench/nginx.ts';

test('nginx reads a path with a space in it as one word', () => {
  const folder = '/tmp/a b';
  const urls = { upstream: '127.0.0.1:1', sink: '127.0.0.1:2' };
  const gate = { ...urls, modules: [`${folder}/lua.so`], folder, redisPort: 3, keys: 4 };
  for (const page of [nginxUpstream(5, folder), nginxProxy(5, folder, urls), nginxLua(5, folder, gate)]) {
    const unquoted = page.replaceAll(/"[^"\n]*"/g, '');
    assert.ok(page.includes(folder));
    assert.ok(!unquoted.includes(folder), unquoted);
  }
});
