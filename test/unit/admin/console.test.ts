import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { adminToken as token, openAdmin } from '../../helpers/open-admin.ts';
import { exchange, requestBytes } from '../../helpers/raw-socket.ts';

const { url: adminUrl } = await openAdmin({ after }, `{ token: ${token} }`);
const port = Number(new URL(adminUrl).port);
const host = ['Host', `127.0.0.1:${port}`] as const;

const folder = new URL('../../../src/admin/console/page/', import.meta.url);
const names = readdirSync(folder);
const files = names.map((name) => ({ name, path: name === 'page.html' ? '/' : `/console/${name}` }));
const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');
const read = (name: string): string => readFileSync(new URL(name, folder), 'utf8');

for (const { name, path } of files) {
  test(`${path} is served without a token, with all that keeps others out`, async (t) => {
    const got = await exchange(t, port, requestBytes(`GET ${path}`, [host]));
    assert.deepEqual([got.status, got.text], [200, read(name)]);
    assert.equal(got.headers['content-type'], types[name.split('.').at(-1) ?? '']);
    assert.equal(got.headers['content-security-policy'], policy);
    assert.equal(got.headers['x-content-type-options'], 'nosniff');
    assert.equal(got.headers['cache-control'], 'no-store');
    assert.equal(got.headers['referrer-policy'], 'no-referrer');
    assert.equal(got.headers['cross-origin-opener-policy'], 'same-origin');
    assert.equal(got.headers['cross-origin-resource-policy'], 'same-origin');
    assert.ok(!Object.keys(got.headers).some((header) => header.startsWith('access-control')));
    assert.equal(got.headers['set-cookie'], undefined);
  });
}

// As all of its files are.
for (const path of ['/', '/console/page.js']) {
  test(`HEAD ${path} answers as GET does, without the body`, async (t) => {
    const [got, headed] = await Promise.all(
      ['GET', 'HEAD'].map((method) => exchange(t, port, requestBytes(`${method} ${path}`, [host]))),
    );
    assert.deepEqual([headed?.status, headed?.text], [200, '']);
    const { date: _then, ...expected } = got?.headers ?? {};
    const { date: _now, ...headers } = headed?.headers ?? {};
    assert.deepEqual(headers, expected);
  });

  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
    test(`${method} ${path} is 405 and says what is right`, async (t) => {
      const answer = await exchange(t, port, requestBytes(`${method} ${path}`, [host], 'body'));
      assert.deepEqual([answer.status, answer.headers['allow']], [405, 'GET, HEAD']);
      assert.deepEqual(JSON.parse(answer.text), { error: 'Method not allowed', code: 'method_not_allowed' });
    });
  }

  test(`${path} answers to no name that a page could have chosen`, async (t) => {
    for (const other of ['evil.example', `evil.example:${port}`, '127.0.0.1.evil.example']) {
      const answer = await exchange(t, port, requestBytes(`GET ${path}`, [['Host', other]]));
      assert.equal(answer.status, 421);
      assert.equal((JSON.parse(answer.text) as { code: string }).code, 'misdirected');
    }
  });
}

test('a query is passed over; any other spelling of a path is none of the page', async (t) => {
  const asked = await exchange(t, port, requestBytes('GET /?from=somewhere', [host]));
  assert.deepEqual([asked.status, asked.text], [200, read('page.html')]);
  for (const target of [
    '//',
    '/page.html',
    '/console',
    '/console/',
    '/console/page.html',
    '/console/page.js/',
    '/console//page.js',
    '/console/./page.js',
    '/console/../console/page.js',
    '/console/..%2fconsole.ts',
    '/console/../console.ts',
    '/console/page%2ejs',
    '/CONSOLE/page.js',
    '/console/constructor',
    '/console/__proto__',
  ]) {
    const answer = await exchange(t, port, requestBytes(`GET ${target}`, [host]));
    assert.equal(answer.status, 401, target);
  }
});

test('the API still wants a token, and what a browser sends by itself is none', async () => {
  for (const headers of [{}, { cookie: `token=${token}` }, { authorization: `Basic ${token}` }]) {
    const answer = await fetch(`${adminUrl}/v1/keys`, { headers });
    assert.equal(answer.status, 401);
  }
  const inUrl = await fetch(`${adminUrl}/v1/keys?token=${token}&access_token=${token}`);
  assert.equal(inUrl.status, 401);
});

test('the page refers only to files that are served, and every file is one that it needs', () => {
  const references = names.flatMap((name) => {
    const links = read(name).matchAll(/(?:href|src)="([^"]+)"|\bfrom '([^']+)'|url\(([^)]+)\)/g);
    return [...links].map(([, link, from, url]) => ({ name, to: link ?? from ?? url ?? '' }));
  });
  const led = references
    .filter(({ to }) => !to.startsWith('#'))
    .map(({ name, to }) => {
      const base = new URL(name === 'page.html' ? '/' : '/console/', adminUrl);
      return new URL(to, base).href;
    });
  const served = files.filter(({ path }) => path !== '/').map(({ path }) => adminUrl + path);
  assert.deepEqual([...new Set(led)].toSorted(), served.toSorted());
});

test('nothing in the page makes markup of a text, keeps the token, or puts it into a URL', () => {
  const scripts = names.filter((name) => name.endsWith('.js'));
  const forbidden =
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|srcdoc|\beval\b|\bFunction\(|\bimport\(|localStorage|sessionStorage|indexedDB|document\.cookie|sendBeacon|https?:\/\//;
  const found = scripts.flatMap((name) =>
    read(name)
      .split('\n')
      .filter((line) => forbidden.test(line.replace(/^\s*(?:\/?\*|\/\/).*/, '')))
      .map((line) => `${name}: ${line}`),
  );
  assert.deepEqual(found, []);
  assert.doesNotMatch(read('page.html'), /<style|<script(?! type="module" src=)|\son\w+=|\sstyle=/);
});
