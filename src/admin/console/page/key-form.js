import { Problem } from './api.js';
import { element, labelled } from './elements.js';

/**
 * @typedef {import('../../../keys/key-view.ts').KeyView} KeyView
 * @typedef {KeyView['quotas'][number]} Quota
 *
 * How one field of a key is written as text, and read back. The API says what is wrong with it.
 * @typedef {object} Field
 * @property {string} label
 * @property {string} hint
 * @property {boolean} [long]
 * @property {(key: KeyView) => string} write
 * @property {(text: string) => unknown} read
 */

const instantHint = '2027-12-31 or 2027-12-31T12:00:00Z; empty for none';

/** Plans seen on keys of this gateway: the API lists none. @type {Set<string>} */
const plansSeen = new Set();

/** @param {Iterable<KeyView>} keys */
export function rememberPlans(keys) {
  for (const { plan } of keys) plansSeen.add(plan);
}

export function forgetPlans() {
  plansSeen.clear();
}

/** @type {Readonly<Record<string, Field>>} */
const fields = {
  name: { label: 'Name', hint: 'What people call it', write: ({ name }) => name, read: orNull },
  owner: {
    label: 'Owner',
    hint: 'Whom it belongs to, as the upstream is told',
    write: ({ owner }) => owner,
    read: orNull,
  },
  plan: { label: 'Plan', hint: 'One of the configuration', write: ({ plan }) => plan, read: (text) => text },
  notBefore: {
    label: 'Valid from',
    hint: instantHint,
    write: ({ notBefore }) => notBefore ?? '',
    read: orNull,
  },
  expiresAt: {
    label: 'Valid until',
    hint: instantHint,
    write: ({ expiresAt }) => expiresAt ?? '',
    read: orNull,
  },
  quotas: {
    label: 'Quotas of its own',
    hint: 'One a line: monthly=5000, or batch=10/day@Europe/Berlin for one that the plan has not',
    long: true,
    write: ({ quotas }) => quotas.map(writeQuota).join('\n'),
    read: (text) => linesOf(text).map(readQuota),
  },
  scopes: {
    label: 'Scopes',
    hint: 'Names of routes or patterns of paths, one a line; none for every route',
    long: true,
    write: ({ scopes }) => scopes.join('\n'),
    read: linesOf,
  },
  networks: {
    label: 'Networks',
    hint: 'Addresses or CIDRs, one a line; none for anywhere',
    long: true,
    write: ({ networks }) => networks.join('\n'),
    read: linesOf,
  },
  labels: {
    label: 'Labels',
    hint: 'name=value, one a line',
    long: true,
    write: ({ labels }) => writeLabels(labels).join('\n'),
    read: readLabels,
  },
};

/**
 * Inputs for the fields of a key, and what was changed in them: untouched fields are not sent, and stay as they are.
 *
 * @param {KeyView} [key]
 */
export function createKeyForm(key) {
  const inputs = Object.entries(fields).map(([name, field]) => {
    const before = key === undefined ? '' : field.write(key);
    // An input's type is set before its value.
    const input = field.long
      ? element('textarea', { name, rows: 2, value: before })
      : element('input', { name, type: 'text', autocomplete: 'off', value: before });
    if (name === 'plan') input.setAttribute('list', 'plans');
    return { name, field, before, input };
  });
  const plans = element(
    'datalist',
    { id: 'plans' },
    ...[...plansSeen].map((value) => element('option', { value })),
  );
  return {
    content: [...inputs.map(({ field, input }) => labelled(field.label, input, field.hint)), plans],
    read() {
      const changed = inputs.filter(({ input, before }) => input.value !== before);
      return Object.fromEntries(
        changed.map(({ name, field, input }) => [name, field.read(input.value.trim())]),
      );
    },
  };
}

/** @param {KeyView['labels']} labels */
export function writeLabels(labels) {
  return Object.entries(labels).map((pair) => pair.join('='));
}

/** @param {string} text */
function readLabels(text) {
  const labels = new Map();
  for (const line of linesOf(text)) {
    const [name, value] = readPair(line);
    if (!line.includes('=')) throw labelsProblem(`says ${name} without a value`);
    // JSON has one value for a name: of two lines the API would not see the first.
    if (labels.has(name)) throw labelsProblem(`says ${name} twice`);
    labels.set(name, value);
  }
  return Object.fromEntries(labels);
}

/** @param {string} problem */
function labelsProblem(problem) {
  return new Problem(`labels ${problem}`, { fields: [{ field: 'labels', problem }] });
}

/** @param {Quota} quota */
export function writeQuota({ name, limit, per, timezone }) {
  return `${name}=${limit}${per === undefined ? '' : `/${per}`}${timezone === undefined ? '' : `@${timezone}`}`;
}

/** @param {string} line */
function readQuota(line) {
  const [name, rest] = readPair(line);
  // What is no number, period or time zone is the API's to refuse.
  const parts = /^(?<limit>[^/@]*)(?:\/(?<per>[^@]*))?(?:@(?<timezone>.*))?$/.exec(rest)?.groups;
  const { limit = rest, per, timezone } = parts ?? {};
  return { name, limit: /^\d+$/.test(limit) ? Number(limit) : limit, per, timezone };
}

/**
 * @param {string} line
 * @returns {[name: string, value: string]}
 */
function readPair(line) {
  const [name = '', ...value] = line.split('=');
  return [name.trim(), value.join('=').trim()];
}

/** @param {string} text */
function linesOf(text) {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** @param {string} text */
function orNull(text) {
  return text === '' ? null : text;
}
