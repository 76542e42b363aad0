import { ask, Problem } from './api.js';
import { button, element, explained, labelled, showInstant, onSubmit, reload, table } from './elements.js';
import { createKey } from './key-changes.js';
import { rememberPlans } from './key-form.js';

/**
 * @typedef {import('../../../keys/key-view.ts').KeyView} KeyView
 * @typedef {Pick<import('../../../keys/key-pages.ts').Page<KeyView>, 'unreadable' | 'next'> & { keys: readonly KeyView[] }} KeyPage
 */

const perPage = 50;

/** By the names of their parameters; empty ones do not count. @type {Record<string, string>} */
let filters = {};

/** Where the pages up to this one began: a page names only the next one. */
let cursors = [''];

function isFiltered() {
  return Object.values(filters).some((value) => value !== '');
}

/** Forgets the filters and the page. */
export function forgetList() {
  filters = {};
  cursors = [''];
}

/** The page of keys being looked at. */
export async function keyList() {
  return element(
    'section',
    {},
    element('h1', {}, 'Keys'),
    element(
      'div',
      { className: 'buttons' },
      button('Create a key', () => void createKey(), 'change primary'),
      button('Refresh', reload),
    ),
    filterForm(),
    openForm(),
    ...(await foundKeys()),
  );
}

/** What the filters find, or what is wrong with them: they stay, to be corrected. */
async function foundKeys() {
  const query = new URLSearchParams({ limit: String(perPage) });
  for (const [name, value] of Object.entries({ ...filters, cursor: cursors.at(-1) ?? '' })) {
    if (value !== '') query.set(name, value);
  }
  try {
    /** @type {{ body: KeyPage }} */
    const { body } = await ask('GET', `v1/keys?${query}`);
    rememberPlans(body.keys);
    return [keyTable(body), ...unreadableNote(body.unreadable), pager(body.next)];
  } catch (error) {
    if (error instanceof Problem && error.fields.length > 0) return [explained(error)];
    throw error;
  }
}

function filterForm() {
  const form = element(
    'form',
    { className: 'filters' },
    labelled('Name begins with', search('name')),
    labelled('Owner', search('owner')),
    labelled('Plan', search('plan')),
    labelled('Label', search('label', 'name or name=value')),
    labelled('Enabled', choice('enabled', { '': 'all', true: 'enabled', false: 'disabled' })),
    labelled('Revoked', choice('revoked', { '': 'not revoked', true: 'revoked' })),
    element(
      'div',
      { className: 'buttons' },
      element('button', { type: 'submit' }, 'Filter'),
      ...(isFiltered() ? [button('Clear', clear)] : []),
    ),
  );
  form.setAttribute('aria-label', 'Filters');
  onSubmit(form, () => {
    cursors = [''];
    for (const [name, value] of new FormData(form)) {
      if (typeof value === 'string') filters[name] = value.trim();
    }
    reload();
  });
  return form;
}

function clear() {
  forgetList();
  reload();
}

/**
 * @param {string} name
 * @param {string} [placeholder]
 */
function search(name, placeholder = '') {
  return element('input', {
    type: 'search',
    name,
    placeholder,
    autocomplete: 'off',
    value: filters[name] ?? '',
  });
}

/**
 * @param {string} name
 * @param {Readonly<Record<string, string>>} words
 */
function choice(name, words) {
  const options = Object.entries(words).map(([value, shown]) =>
    element('option', { value, selected: value === (filters[name] ?? '') }, shown),
  );
  return element('select', { name }, ...options);
}

/** Among a million keys, one is found by its id. */
function openForm() {
  const id = element('input', { type: 'text', autocomplete: 'off', required: true });
  const form = element(
    'form',
    { className: 'filters' },
    labelled('Key by its id', id),
    element('button', { type: 'submit' }, 'Open'),
  );
  onSubmit(form, () => {
    location.hash = id.value.trim();
  });
  return form;
}

/** @param {KeyPage} page */
function keyTable({ keys, next }) {
  if (keys.length === 0) return element('p', { className: 'note' }, noKeys(next));
  const heads = ['Key', 'Name', 'Owner', 'Plan', 'State', 'Valid until', 'Last used'];
  const rows = keys.map((key) => [
    element('a', { href: `#${key.id}` }, key.id),
    key.name,
    key.owner,
    key.plan,
    stateOf(key),
    showInstant(key.expiresAt, 'for ever'),
    showInstant(key.lastUsedAt, 'never'),
  ]);
  return table('Keys in the order of their ids', heads, rows);
}

/**
 * One of many pages can be without keys.
 *
 * @param {string | null} next
 */
function noKeys(next) {
  if (next !== null || cursors.length > 1) return 'No keys on this page';
  if (isFiltered()) return 'No key fits these filters';
  return 'No keys to list: those of the configuration file are opened by their id, and revoked ones found by the filter';
}

/** @param {Pick<KeyView, 'state'>} key */
export function stateOf({ state }) {
  return element('strong', { className: state === 'good' ? 'good' : 'bad' }, state.replaceAll('_', ' '));
}

/** @param {readonly string[]} ids */
function unreadableNote(ids) {
  if (ids.length === 0) return [];
  return [element('p', { className: 'warning' }, `Records that are gone or damaged: ${ids.join(', ')}`)];
}

/** @param {string | null} next */
function pager(next) {
  const before = button('Previous page', () => {
    cursors.pop();
    reload();
  });
  before.disabled = cursors.length === 1;
  const after = button('Next page', () => {
    cursors.push(next ?? '');
    reload();
  });
  after.disabled = next === null;
  const made = element(
    'nav',
    { className: 'buttons' },
    before,
    element('span', {}, `Page ${cursors.length}`),
    after,
  );
  made.setAttribute('aria-label', 'Pages');
  return made;
}
