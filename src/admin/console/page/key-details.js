import { ask } from './api.js';
import { button, element, explained, showInstant, reload, table } from './elements.js';
import { editKey, pathOf, resetUsage, revokeKey, rotateKey, setUsage, switchKey } from './key-changes.js';
import { writeLabels, writeQuota } from './key-form.js';
import { stateOf } from './key-list.js';

/**
 * @typedef {import('../../../keys/key-view.ts').KeyView} KeyView
 * @typedef {import('../../../quota/usage-book.ts').KeyUsage} KeyUsage
 * @typedef {import('./key-changes.js').Seen} Seen
 */

/**
 * All that is known about a key, and what can be done with it.
 *
 * @param {string} id
 */
export async function keyDetails(id) {
  // A key of the configuration file has usage and nothing else to show, so the two are requested separately.
  const [read, used] = await Promise.allSettled([readKey(id), usageSection(id)]);
  const seen = read.status === 'fulfilled' ? read.value : undefined;
  return element(
    'section',
    {},
    element('p', {}, element('a', { href: '#' }, 'All keys')),
    element('h1', {}, id),
    element(
      'div',
      { className: 'buttons' },
      ...(seen === undefined ? [] : changesOf(seen)),
      button('Refresh', reload),
    ),
    ...problemsOf(read, used),
    ...(seen === undefined ? [] : [factsOf(seen.key), secretsOf(seen.key)]),
    ...(used.status === 'fulfilled' ? [used.value] : []),
  );
}

/**
 * What is wrong, once when it is the same with both.
 *
 * @param {...PromiseSettledResult<unknown>} results
 */
function problemsOf(...results) {
  const problems = results.flatMap((result) =>
    result.status === 'rejected' ? [explained(result.reason)] : [],
  );
  return problems.filter((problem, at) => problem.textContent !== problems[at - 1]?.textContent);
}

/**
 * @param {string} id
 * @returns {Promise<Seen>}
 */
async function readKey(id) {
  /** @type {{ body: KeyView, etag: string }} */
  const { body, etag } = await ask('GET', pathOf({ id }));
  return { key: body, etag };
}

/** @param {Seen} seen */
function changesOf(seen) {
  /** @param {(seen: Seen) => Promise<void>} change */
  const then = (change) => async () => {
    await change(seen);
    // Done, refused or cancelled: somebody else may have changed the key meanwhile.
    reload();
  };
  // Nothing can be done with a revoked key.
  if (seen.key.revokedAt !== null) return [];
  return [
    button('Change', then(editKey), 'change'),
    button('Rotate', then(rotateKey), 'change'),
    button(seen.key.enabled ? 'Disable' : 'Enable', then(switchKey), 'change'),
    button('Revoke', then(revokeKey), 'change danger'),
  ];
}

/** @param {KeyView} key */
function factsOf(key) {
  /** @type {readonly (readonly [string, string | Node])[]} */
  const facts = [
    ['State', stateOf(key)],
    ['Name', key.name],
    ['Owner', key.owner],
    ['Plan', key.plan],
    ['Quotas of its own', key.quotas.map(writeQuota).join(', ')],
    ['Scopes', key.scopes.join(', ') || 'every route'],
    ['Networks', key.networks.join(', ') || 'anywhere'],
    ['Labels', writeLabels(key.labels).join(', ')],
    ['Valid from', showInstant(key.notBefore, '')],
    ['Valid until', showInstant(key.expiresAt, 'for ever')],
    ['Revoked', showInstant(key.revokedAt, '')],
    ['Created', showInstant(key.createdAt, '')],
    ['Last used', showInstant(key.lastUsedAt, 'never')],
    ['Version', String(key.version)],
  ];
  const told = facts.filter(([, fact]) => fact !== '');
  return element(
    'dl',
    {},
    ...told.flatMap(([name, fact]) => [element('dt', {}, name), element('dd', {}, fact)]),
  );
}

/** @param {KeyView} key */
function secretsOf({ secrets, revokedAt }) {
  const heads = ['Secret', 'Begins with', 'Created', 'Works until', 'Last used'];
  const rows = secrets.map(({ number, start, createdAt, expiresAt, expired, lastUsedAt }) => [
    String(number),
    element('code', {}, start),
    showInstant(createdAt, ''),
    // None of them works once the key is revoked, whatever end it had.
    revokedAt !== null && !expired
      ? ''
      : element('span', {}, showInstant(expiresAt, 'the key ends'), expired ? ' (expired)' : ''),
    showInstant(lastUsedAt, 'never'),
  ]);
  return table('Secrets', heads, rows);
}

/** @param {string} id */
async function usageSection(id) {
  /** @type {{ body: KeyUsage }} */
  const { body } = await ask('GET', `${pathOf({ id })}/usage`);
  if (body.quotas.length === 0) return element('p', { className: 'note' }, `Plan ${body.plan} has no quotas`);
  const heads = ['Quota', 'Limit', 'Used', 'Remaining', 'Resets', ''];
  const rows = body.quotas.map((quota) => usageRow(id, quota));
  return table('Usage', heads, rows);
}

/**
 * @param {string} id
 * @param {KeyUsage['quotas'][number]} quota
 */
function usageRow(id, { name, limit, used, leased, remaining, resetsAt }) {
  const ahead = leased === 0 ? '' : ` (${leased} of them drawn ahead)`;
  // Green at first, yellow towards the end, red when nothing remains.
  const meter = element('meter', { max: limit, low: limit * 0.8, high: limit - 1, optimum: 0, value: used });
  meter.setAttribute('aria-label', `${name} used`);
  /**
   * @param {string} verb
   * @param {() => Promise<void>} change
   */
  function changeButton(verb, change) {
    const made = button(verb, () => change().then(reload), 'change');
    made.setAttribute('aria-label', `${verb} ${name}`);
    return made;
  }
  const set = changeButton('Set', () => setUsage({ id }, name, used - leased));
  const changes = element(
    'span',
    {},
    set,
    ' ',
    changeButton('Reset', () => resetUsage({ id }, name)),
  );
  const spent = element('span', {}, meter, ` ${used}${ahead}`);
  return [name, String(limit), spent, String(remaining), showInstant(resetsAt, 'never'), changes];
}
