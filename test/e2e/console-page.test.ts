import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { after, test } from 'node:test';
import { createAdminClient } from '../helpers/admin-client.ts';
import { browse, type Visitor } from '../helpers/browse.ts';
import { listen } from '../helpers/listen.ts';
import { away, openAdmin } from '../helpers/open-admin.ts';
import { until, type Scene } from '../helpers/poll.ts';
import { startRecordingUpstream } from '../helpers/recording-upstream.ts';
import { startGateway } from '../helpers/start-gateway.ts';

const writer = 'writer-token-0123456789';
const reader = 'reader-token-0123456789';
const upstream = await startRecordingUpstream({ after });
const gateway = await startGateway(
  { after },
  {
    plans: { free: { quotas: [{ name: 'monthly', limit: 1000, per: 'month' }] }, paid: {} },
    admin: { token: writer, tokens: [{ name: 'grace', token: reader }] },
  },
  { upstream: upstream.url },
);
const ask = await createAdminClient(gateway.adminUrl, writer);

async function signedIn(t: Scene, { token = writer, at = '' } = {}) {
  const visitor = await browse(t, `${gateway.adminUrl}/${at}`);
  await visitor.fill('Admin token', token);
  await visitor.click('Sign in');
  return visitor;
}

function valuesOf({ window }: Visitor, selector: string): readonly string[] {
  const inputs = [...window.document.querySelectorAll(selector)] as unknown as { value: string }[];
  return inputs.map(({ value }) => value);
}

test('a key is made, its secret seen once, used, rotated and revoked, all on the page', async (t) => {
  const visitor = await signedIn(t);
  const { window } = visitor;
  await visitor.click('Create a key');
  await visitor.fill('Name', 'build server');
  await visitor.fill('Plan', 'free');
  await visitor.fill('Labels', 'team=voice\nstage=live');
  await visitor.click('Create');
  await visitor.sees('This is the only time that it is shown');
  const secret = window.document.querySelector('.secret')?.textContent ?? '';
  assert.equal(await gateway.statusFor(secret), 200);
  await visitor.click('I have copied it');
  assert.ok(!window.document.documentElement.outerHTML.includes(secret), 'the secret is gone from the page');
  const id = window.location.hash.slice(1);
  const key = async () => (await ask('GET', `/v1/keys/${id}`)).body;
  const { name, labels, plan } = await key();
  assert.deepEqual(
    { name, labels, plan },
    { name: 'build server', labels: { team: 'voice', stage: 'live' }, plan: 'free' },
  );

  await visitor.sees('team=voice, stage=live');
  await visitor.sees(/monthly1000 \d+.*\d+\d{4}-\d\d-01 00:00 UTC/);

  await visitor.click('Rotate');
  assert.deepEqual(valuesOf(visitor, 'dialog input'), ['24h']);
  await visitor.fill('Old secrets work for', '0s');
  await visitor.click('Rotate');
  await visitor.sees('The secrets before it do not work any more');
  const next = window.document.querySelector('.secret')?.textContent ?? '';
  assert.notEqual(next, secret);
  await visitor.click('I have copied it');
  await visitor.sees('Version2');

  await visitor.click('Revoke');
  await visitor.fill(`Type ${id} to revoke it`, 'another');
  await visitor.click('Revoke');
  await visitor.sees('This is not the id of the key');
  assert.equal((await key()).state, 'good');
  await visitor.fill(`Type ${id} to revoke it`, id);
  await visitor.click('Revoke');
  await visitor.sees('Staterevoked');
  assert.equal((await key()).state, 'revoked');
  assert.deepEqual(
    (await visitor.controls()).filter((control) => /Rotate|Revoke|Change/.test(control)),
    [],
  );
});

test('a key whose answer was lost is asked for again, and made once', async (t) => {
  const visitor = await signedIn(t);
  const { window } = visitor;
  await visitor.click('Create a key');
  await visitor.fill('Owner', 'once');
  await visitor.fill('Plan', 'free');
  const send = window.fetch.bind(window);
  window.fetch = async (...request) => {
    await send(...request);
    window.fetch = send;
    throw new TypeError('the answer was lost');
  };
  await visitor.click('Create');
  await visitor.sees('It can be asked again as it is: it is done once');
  await visitor.click('Create');
  await visitor.sees('Rotate the key to get another');
  const { keys } = (await ask('GET', '/v1/keys?owner=once')).body;
  assert.deepEqual(
    keys.map(({ id }) => id),
    [window.location.hash.slice(1)],
  );
});

test('what the API tells is text, whatever it looks like', async (t) => {
  const hostile = '<img src=x onerror="document.title=1"><script>document.title=2</script>';
  const body = { plan: 'free', name: hostile, owner: hostile, labels: { note: hostile } };
  const { key } = (await ask('POST', '/v1/keys', { body })).body;
  const visitor = await signedIn(t);
  await visitor.sees(hostile);
  await visitor.click(key.id);
  await visitor.sees(`note=${hostile}`);
  await visitor.click('Change');
  const { document } = visitor.window;
  assert.deepEqual(
    [document.querySelectorAll('img').length, document.querySelectorAll('main script').length],
    [0, 0],
  );
  assert.match(document.title, /^key_/);
});

test('a link to what is no id asks for nothing', async (t) => {
  const visitor = await signedIn(t, { at: '#../verify' });
  await visitor.sees('This is not the id of a key');
});

test('a change is refused when somebody else was faster, in the words of the API', async (t) => {
  const { key } = (await ask('POST', '/v1/keys', { body: { plan: 'free', name: 'before' } })).body;
  const path = `/v1/keys/${key.id}`;
  const visitor = await signedIn(t, { at: `#${key.id}` });
  await visitor.click('Change');
  await ask('PATCH', path, { body: { owner: 'acme' } });
  await visitor.fill('Name', 'after');
  await visitor.click('Save');
  await visitor.sees(
    (await ask('PATCH', path, { body: { name: 'x' }, headers: { 'if-match': '"1"' } })).body.error,
  );
  assert.equal((await ask('GET', path)).body.name, 'before');
  await visitor.click('Cancel');
  await visitor.sees('Owneracme');
  await visitor.click('Change');
  await visitor.fill('Name', 'after');
  await visitor.fill('Plan', 'paid');
  await visitor.fill('Valid until', '2099-01-01');
  await visitor.fill('Quotas of its own', 'batch=10/day@Europe/Berlin');
  await visitor.click('Save');
  await visitor.sees('2099-01-01 00:00 UTC');
  const { name, owner, plan, quotas } = (await ask('GET', path)).body;
  const batch = { name: 'batch', limit: 10, per: 'day', timezone: 'Europe/Berlin' };
  assert.deepEqual(
    { name, owner, plan, quotas },
    { name: 'after', owner: 'acme', plan: 'paid', quotas: [batch] },
  );
});

test('what was never seen of a key is not undone by any change of it', async (t) => {
  const { key } = (await ask('POST', '/v1/keys', { body: { plan: 'free' } })).body;
  const path = `/v1/keys/${key.id}`;
  const visitor = await signedIn(t, { at: `#${key.id}` });
  const stale = { body: { name: 'x' }, headers: { 'if-match': '"9"' } };
  const { error } = (await ask('PATCH', path, stale)).body;
  for (const change of ['Rotate', 'Disable', 'Revoke']) {
    await visitor.click(change);
    await ask('PATCH', path, { body: { name: `before ${change}` } });
    if (change === 'Revoke') await visitor.fill(`Type ${key.id} to revoke it`, key.id);
    await visitor.click(change);
    await visitor.sees(error);
    await visitor.click('Cancel');
    await visitor.sees(`before ${change}`);
  }
});

test('faults of fields are told, and the fields are marked', async (t) => {
  const visitor = await signedIn(t);
  await visitor.click('Create a key');
  await visitor.fill('Plan', 'fre');
  await visitor.fill('Valid until', 'tomorrow');
  await visitor.click('Create');
  await visitor.sees(/plan is not among the plans.*expiresAt is not a date/);
  const faulty = [...visitor.window.document.querySelectorAll('[aria-invalid="true"]')];
  assert.deepEqual(
    faulty.map((input) => input.getAttribute('name')),
    ['plan', 'expiresAt'],
  );
  const first = (): boolean => visitor.window.document.activeElement?.getAttribute('name') === 'plan';
  await until(first, { what: 'the first of them can be mended at once' });
});

test('nothing that was typed into a form is lost or guessed at in silence', async (t) => {
  const visitor = await signedIn(t);
  await visitor.click('Create a key');
  await visitor.fill('Plan', 'free');
  await visitor.fill('Labels', 'team=voice\nteam=names');
  await visitor.click('Create');
  await visitor.sees('labels says team twice');
  await visitor.fill('Labels', 'team=voice\nlive');
  await visitor.click('Create');
  await visitor.sees('labels says live without a value');
  await visitor.fill('Labels', 'team=voice');
  await visitor.fill('Quotas of its own', 'batch=10/day@UTC or so');
  await visitor.click('Create');
  await visitor.sees('is not a time zone of a period');
});

test('a key is disabled and enabled, and its usage is set', async (t) => {
  const { key, secret } = (await ask('POST', '/v1/keys', { body: { plan: 'free' } })).body;
  assert.equal(await gateway.statusFor(secret), 200);
  const visitor = await signedIn(t, { at: `#${key.id}` });
  await visitor.click('Disable');
  await visitor.click('Disable');
  await visitor.sees('Statedisabled');
  await visitor.click('Enable');
  await visitor.click('Enable');
  await visitor.sees('Stategood');
  await visitor.click('Set monthly');
  await visitor.fill('Used', '1200');
  await visitor.click('Set');
  await visitor.sees(/monthly1000 12\d\d.*0\d{4}-/);
  await visitor.click('Reset monthly');
  await visitor.click('Reset');
  await visitor.sees(/monthly1000 0.*1000/);
});

test('a used-up quota is beyond the high mark of its meter, and old secrets say until when they work', async (t) => {
  const quotas = [{ name: 'monthly', limit: 2 }];
  const { key, secret } = (await ask('POST', '/v1/keys', { body: { plan: 'free', quotas } })).body;
  const visitor = await signedIn(t, { at: `#${key.id}` });
  const { document } = visitor.window;
  const valueOf = (name: string) => document.querySelector('meter')?.getAttribute(name);
  await until(() => valueOf('value') === '0');
  for (const status of [200, 200, 429]) assert.equal(await gateway.statusFor(secret), status);
  await visitor.click('Refresh');
  await until(() => valueOf('value') === '2');
  assert.equal(valueOf('high'), '1');
  await visitor.click('Rotate');
  await visitor.click('Rotate');
  await visitor.sees(/The secrets before it work until \d{4}-\d\d-\d\d \d\d:\d\d UTC\./);
});

test('a token that may only read is told so in words, and sees no such buttons any more', async (t) => {
  const { key } = (await ask('POST', '/v1/keys', { body: { plan: 'free' } })).body;
  const visitor = await signedIn(t, { token: reader, at: `#${key.id}` });
  await visitor.click('Disable');
  await visitor.click('Disable');
  await visitor.sees('This token may read and not write');
  await visitor.click('Cancel');
  await visitor.sees('Stategood');
  assert.deepEqual(await visitor.controls(), ['Gatehouse', 'Sign out', 'All keys', 'Refresh']);
});

test('keys are listed page by page, and filtered', async (t) => {
  const ids = Array.from({ length: 100 }, (_, at) => `paged-${String(at).padStart(3, '0')}`);
  const rows = ids.map((id) => `foreign-secret-of-${id},${id},paid,many\n`);
  const csv = ['secret,id,plan,owner\n', ...rows].join('');
  const made = await ask('POST', '/v1/import', { headers: { 'content-type': 'text/csv' }, body: csv });
  assert.equal(made.body.added, ids.length);
  const visitor = await signedIn(t);
  await visitor.fill('Owner', 'many');
  await visitor.click('Filter');
  await visitor.sees('paged-049');
  assert.ok(!visitor.text().includes('paged-050'));
  await visitor.click('Next page');
  await visitor.sees('paged-099');
  assert.ok(!visitor.text().includes('paged-049'));
  await visitor.click('Next page');
  // It is not taken for a search that found none.
  await visitor.sees('No keys on this page');
  await visitor.click('Previous page');
  await visitor.sees('paged-050');
  await visitor.click('Previous page');
  await visitor.sees('paged-000');
  await visitor.click('Next page');
  await visitor.sees('Page 2');
  await visitor.click('Filter');
  await visitor.sees('paged-049');
  await visitor.sees('Page 1');
  await visitor.fill('Key by its id', 'demo');
  await visitor.click('Open');
  await visitor.sees('This key stands in the configuration file');
  await visitor.sees('monthly');
  assert.ok((await visitor.controls()).includes('Refresh'));
  await visitor.click('Sign out');
  visitor.window.location.hash = '';
  await visitor.fill('Admin token', writer);
  await visitor.click('Sign in');
  await visitor.sees('Page 1');
  assert.equal(valuesOf(visitor, '.filters input').join(''), '');
});

test('a filter that the API refuses is told of, and can be mended', async (t) => {
  await ask('POST', '/v1/keys', { body: { id: 'left-over', plan: 'free' } });
  const visitor = await signedIn(t);
  await visitor.fill('Name begins with', 'x'.repeat(201));
  await visitor.click('Filter');
  await visitor.sees('name is longer than 200 characters');
  await visitor.fill('Name begins with', '');
  await visitor.click('Filter');
  await visitor.sees('left-over');
});

test('what is asked for and not answered by the gateway is told of, and without doubt where it changes nothing', async (t) => {
  const visitor = await signedIn(t);
  await visitor.sees('Page 1');
  visitor.window.fetch = async () => new visitor.window.Response('<p>bad gateway', { status: 502 });
  await visitor.click('Refresh');
  await visitor.sees('The answer was 502, without a word');
  visitor.window.fetch = () => Promise.reject(new Error('no network'));
  await visitor.click('Try again');
  const told = () => visitor.window.document.querySelector('main .problem')?.textContent;
  await until(() => told() === 'The gateway cannot be reached');
});

test('an answer that does not come is given up, and can be asked for again', async (t) => {
  const visitor = await signedIn(t);
  const { window } = visitor;
  await visitor.sees('Create a key');
  const send = window.fetch.bind(window);
  window.fetch = (_url, request) =>
    new Promise((_resolve, reject) => {
      request?.signal?.addEventListener('abort', () => reject(new Error('aborted')));
    });
  const waits: number[] = [];
  const patience = new window.AbortController();
  t.mock.method(window.AbortSignal, 'timeout', (ms: number) => {
    waits.push(ms);
    return patience.signal;
  });
  await visitor.click('Refresh');
  await until(() => waits.includes(30_000));
  patience.abort();
  await visitor.sees('The gateway cannot be reached');
  t.mock.restoreAll();
  window.fetch = send;
  await visitor.click('Try again');
  await visitor.sees('Create a key');
});

test('filters that find nothing say so, and all of them are cleared at once', async (t) => {
  await ask('POST', '/v1/keys', { body: { id: 'found-again', plan: 'free' } });
  const visitor = await signedIn(t);
  await visitor.sees('found-again');
  assert.ok(!(await visitor.controls()).includes('Clear'));
  await visitor.fill('Owner', 'nobody');
  await visitor.fill('Enabled', 'false');
  await visitor.click('Filter');
  await visitor.sees('No key fits these filters');
  await visitor.click('Clear');
  await visitor.sees('found-again');
  assert.equal(valuesOf(visitor, '.filters input, .filters select').join(''), '');
});

test('what is wrong with a key is told once', async (t) => {
  const visitor = await signedIn(t, { at: '#never-made' });
  await visitor.sees('There is no such key');
  assert.equal(visitor.text().split('There is no such key').length, 2);
});

test('who signs out leaves nothing behind', async (t) => {
  await ask('POST', '/v1/keys', { body: { id: 'left-behind', plan: 'free' } });
  const visitor = await signedIn(t);
  visitor.window.location.hash = '#left-behind';
  await visitor.sees('Version1');
  await until(() => visitor.window.document.title.startsWith('left-behind'));
  await visitor.click('Change');
  const leave = visitor.window.document.getElementById('sign-out');
  leave?.dispatchEvent(new visitor.window.Event('click'));
  await visitor.sees('Admin token');
  assert.equal(visitor.window.document.title, 'Gatehouse');
  assert.ok(!visitor.text().includes('left-behind'));
  assert.deepEqual(await visitor.controls(), ['Gatehouse', 'Sign in']);
  visitor.window.dispatchEvent(new visitor.window.Event('hashchange'));
  assert.equal(visitor.window.document.querySelector('[inert]'), null, 'nothing is asked for any more');
});

/** Asks for a key whose answers are held back until the function is called that this returns. */
async function askInVain({ window }: Visitor, id: string) {
  const held = Promise.withResolvers<void>();
  const send = window.fetch.bind(window);
  window.fetch = async (path, request) => {
    const answer = await send(path, request);
    if (typeof path === 'string' && path.includes(id)) await held.promise;
    return answer;
  };
  window.location.hash = `#${id}`;
  await until(() => window.document.querySelector('main')?.hasAttribute('inert'));
  return () => {
    window.fetch = send;
    held.resolve();
  };
}

test('a key that is answered late is not shown over what was asked for after it', async (t) => {
  await ask('POST', '/v1/keys', { body: { id: 'late-key', plan: 'free' } });
  const visitor = await signedIn(t);
  const { window } = visitor;
  await visitor.sees('Create a key');
  const letGo = await askInVain(visitor, 'late-key');
  assert.ok(visitor.text().includes('Create a key'), 'what stood there before can be read, and not used');
  window.location.hash = '';
  await until(() => window.document.querySelector('[inert]') === null);
  letGo();
  await ask('GET', '/v1/pattern');
  assert.equal(window.document.title, 'Gatehouse');
  assert.ok(!visitor.text().includes('Version1'));
});

test('what was asked for before somebody signed out is not shown to whoever comes next', async (t) => {
  await ask('POST', '/v1/keys', { body: { id: 'late-secret', plan: 'paid' } });
  const visitor = await signedIn(t);
  const { window } = visitor;
  await visitor.click('Create a key');
  const plans = (): string[] =>
    [...window.document.querySelectorAll('#plans option')].map((one) => String(one.getAttribute('value')));
  assert.ok(plans().includes('paid'));
  await visitor.click('Cancel');
  const letGo = await askInVain(visitor, 'late-secret');
  await visitor.click('Sign out');
  await visitor.sees('Admin token');
  letGo();
  await ask('GET', '/v1/pattern');
  assert.deepEqual(await visitor.controls(), ['Gatehouse', 'Sign in']);
  await visitor.fill('Admin token', writer);
  await visitor.click('Sign in');
  await visitor.click('Change');
  assert.deepEqual(plans(), [], 'no plans of the keys that were listed for somebody else are offered');
});

test('a secret that was made is shown though its form was closed, and goes only by its button', async (t) => {
  const visitor = await signedIn(t);
  const { window } = visitor;
  /** What Escape does first. Some browsers close the dialog at the second one, whatever comes of this. */
  function isHeld(): boolean {
    const escape = new window.Event('cancel', { cancelable: true });
    window.document.querySelector('dialog')?.dispatchEvent(escape);
    return escape.defaultPrevented;
  }
  /** Reloading the page would lose it, too. */
  function isAskedBeforeLeaving(): boolean {
    const leaving = new window.Event('beforeunload', { cancelable: true });
    window.dispatchEvent(leaving);
    return leaving.defaultPrevented;
  }
  await visitor.click('Create a key');
  await visitor.fill('Plan', 'free');
  assert.ok(!isHeld());
  const send = window.fetch.bind(window);
  window.fetch = async (...request) => {
    window.fetch = send;
    assert.ok(isHeld());
    assert.ok(window.document.querySelector('form[aria-busy=true]'), 'it looks as busy as it is');
    window.document.querySelector('dialog')?.close();
    return await send(...request);
  };
  await visitor.click('Create');
  await visitor.sees('This is the only time that it is shown');
  assert.ok(isHeld());
  window.document.getElementById('sign-out')?.dispatchEvent(new window.Event('click'));
  await visitor.sees('Admin token');
  const secret = window.document.querySelector('.secret')?.textContent ?? '';
  const copied: string[] = [];
  const clipboard = { writeText: async (text: string) => void copied.push(text) };
  Object.defineProperty(window.navigator, 'clipboard', { value: clipboard, configurable: true });
  await visitor.click('Copy');
  await visitor.sees('Copied');
  assert.deepEqual(copied, [secret]);
  assert.ok(isAskedBeforeLeaving());
  Object.defineProperty(window.navigator, 'clipboard', { value: undefined });
  await visitor.click('Copy');
  await visitor.sees('The secret is selected: copy it by hand');
  assert.equal(window.document.getSelection()?.toString(), secret);
  await visitor.click('I have copied it');
  await until(() => !isAskedBeforeLeaving(), { what: 'nothing is left to lose' });
});

test('a token that is not valid is refused in words; the right one is in no URL and nowhere in the page', async (t) => {
  const visitor = await signedIn(t, { token: 'another-token-0123456789' });
  await visitor.sees('A valid admin token is required');
  const asked: (RequestInit | undefined)[] = [];
  const send = visitor.window.fetch.bind(visitor.window);
  visitor.window.fetch = async (path, request) => {
    asked.push(request as RequestInit | undefined);
    return await send(path, request);
  };
  await visitor.fill('Admin token', writer);
  await visitor.click('Sign in');
  await visitor.click('Refresh');
  await visitor.sees('Page 1');
  const { window } = visitor;
  assert.ok(!window.location.href.includes(writer));
  assert.ok(!window.document.documentElement.outerHTML.includes(writer));
  assert.deepEqual(
    [window.localStorage.length, window.sessionStorage.length, window.document.cookie],
    [0, 0, ''],
  );
  await visitor.click('Sign out');
  await visitor.fill('Admin token', '');
  assert.ok(!visitor.text().includes('Page 1'));
  const withToken = asked.filter((request) => new Headers(request?.headers).has('authorization'));
  assert.ok(withToken.length > 0);
  for (const { credentials, redirect, cache, signal } of withToken as RequestInit[])
    assert.deepEqual(
      [credentials, redirect, cache, signal?.aborted],
      ['omit', 'error', 'no-store', true],
      'it goes nowhere else, is kept nowhere, and nothing waits that was asked for with it',
    );
});

test('a token that is not valid is refused in the same words when it is sent by a double click', async (t) => {
  const visitor = await browse(t, gateway.adminUrl);
  await visitor.fill('Admin token', 'another-token-0123456789');
  const button = visitor.window.document.querySelector('button[type=submit]')!;
  for (let click = 0; click < 2; click += 1) (button as unknown as { click(): void }).click();
  await visitor.sees('A valid admin token is required');
  await visitor.fill('Admin token', writer);
  await visitor.click('Sign in');
  await visitor.sees('Page 1');
});

/** A proxy that has no way to the probe. */
async function passOn(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const answer = await fetch(gateway.adminUrl + req.url);
  const type = answer.headers.get('content-type') ?? '';
  if (req.url === '/readyz') res.writeHead(200, { 'Content-Type': type }).end('{"message":"no such route"}');
  else res.writeHead(answer.status, { 'Content-Type': type }).end(await answer.text());
}

test('what a proxy answers in place of the gateway says nothing about its readiness', async (t) => {
  const proxy = createServer((req, res) => void passOn(req, res));
  const visitor = await browse(t, `http://127.0.0.1:${await listen(t, proxy)}`);
  await visitor.sees('The gateway cannot be reached');
});

test('whether the gateway is ready stands at the top, and a lost connection is told', async (t) => {
  const { url, listener } = await openAdmin(t, `{ token: ${writer} }`);
  const visitor = await browse(t, url);
  await visitor.sees('Not ready');
  await visitor.sees(away);
  await visitor.fill('Admin token', writer);
  await visitor.click('Sign in');
  await visitor.sees('No keys to list');
  await listener.close();
  await visitor.click('Create a key');
  await visitor.click('Create');
  await visitor.sees('The gateway cannot be reached. It can be asked again as it is: it is done once');
});

test('without a token in the configuration the page says what the API says, and asks for none', async (t) => {
  const { url } = await openAdmin(t, '{ listen: "127.0.0.1:9090" }');
  const visitor = await browse(t, url);
  await visitor.sees('set admin.token or admin.tokens in the configuration, and restart');
  assert.equal(visitor.window.document.querySelectorAll('input').length, 0);
});
