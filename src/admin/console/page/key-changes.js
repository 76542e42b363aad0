import { ask, newMark } from './api.js';
import { askInDialog, showSecret } from './dialogs.js';
import { element, labelled, showInstant } from './elements.js';
import { createKeyForm } from './key-form.js';

/**
 * @typedef {import('../../../keys/key-view.ts').KeyView} KeyView
 *
 * A key, and its version on the screen: a change to any other is refused, so nobody undoes what they never saw.
 * @typedef {{ key: KeyView, etag: string }} Seen
 *
 * A new secret; null when the request had been made before and its answer was lost.
 * @typedef {{ key: KeyView, secret: string | null, othersUntil?: string | null }} Fresh
 */

/** Makes a key, shows its secret, and then the key. */
export async function createKey() {
  const form = createKeyForm();
  // One name while the form is open: asking again after a lost answer makes no second key.
  const mark = newMark();
  const fresh = await askInDialog({
    title: 'Create a key',
    content: form.content,
    action: 'Create',
    /** @returns {Promise<{ body: Fresh }>} */
    act: () => ask('POST', 'v1/keys', { body: form.read(), mark }),
  });
  if (fresh === undefined) return;
  location.hash = fresh.body.key.id;
  await tellSecret(fresh.body);
}

/** @param {Seen} seen */
export async function editKey({ key, etag }) {
  const form = createKeyForm(key);
  await askInDialog({
    title: `Change ${key.id}`,
    content: form.content,
    action: 'Save',
    act: () => ask('PATCH', pathOf(key), { body: form.read(), etag }),
  });
}

/** @param {Seen} seen */
export async function rotateKey({ key, etag }) {
  const overlap = element('input', { type: 'text', value: '24h', required: true, autocomplete: 'off' });
  const mark = newMark();
  const fresh = await askInDialog({
    title: `Rotate ${key.id}`,
    content: [
      labelled(
        'Old secrets work for',
        overlap,
        '30m, 24h or 7d; 0s ends them at once, as when one was exposed',
      ),
    ],
    action: 'Rotate',
    /** @returns {Promise<{ body: Fresh }>} */
    act: () => ask('POST', `${pathOf(key)}/rotate`, { body: { overlap: overlap.value.trim() }, etag, mark }),
  });
  if (fresh !== undefined) await tellSecret(fresh.body);
}

/** @param {Seen} seen */
export async function revokeKey({ key, etag }) {
  const typed = element('input', { type: 'text', required: true, autocomplete: 'off', spellcheck: false });
  await askInDialog({
    title: `Revoke ${key.id}`,
    content: [
      element('p', { className: 'warning' }, 'The key ends for ever. It cannot be undone.'),
      labelled(`Type ${key.id} to revoke it`, typed),
    ],
    action: 'Revoke',
    danger: true,
    async act() {
      if (typed.value.trim() !== key.id) throw new Error('This is not the id of the key');
      return await ask('POST', `${pathOf(key)}/revoke`, { etag });
    },
  });
}

/** @param {Seen} seen */
export async function switchKey({ key, etag }) {
  const verb = key.enabled ? 'Disable' : 'Enable';
  const words = key.enabled
    ? 'Its callers are refused until it is enabled.'
    : 'Its callers are let through again.';
  await askInDialog({
    title: `${verb} ${key.id}`,
    content: [element('p', {}, words)],
    action: verb,
    danger: key.enabled,
    act: () => ask('POST', `${pathOf(key)}/${verb.toLowerCase()}`, { etag }),
  });
}

/**
 * @param {Pick<KeyView, 'id'>} key
 * @param {string} quota
 * @param {number} spent
 */
export async function setUsage(key, quota, spent) {
  const used = element('input', {
    type: 'number',
    name: 'used',
    min: '0',
    value: String(spent),
    required: true,
  });
  await askInDialog({
    title: `Set ${quota} of ${key.id}`,
    content: [
      labelled('Used', used, 'In the current period. What gateways have drawn ahead is counted on top'),
    ],
    action: 'Set',
    danger: true,
    act: () => ask('POST', `${pathOf(key)}/usage/set`, { body: { quota, used: Number(used.value) } }),
  });
}

/**
 * @param {Pick<KeyView, 'id'>} key
 * @param {string} quota
 */
export async function resetUsage(key, quota) {
  await askInDialog({
    title: `Reset ${quota} of ${key.id}`,
    content: [element('p', {}, 'Its usage is set to zero, in the current period.')],
    action: 'Reset',
    danger: true,
    act: () => ask('POST', `${pathOf(key)}/usage/reset`, { body: { quota } }),
  });
}

/** @param {Pick<KeyView, 'id'>} key */
export function pathOf({ id }) {
  return `v1/keys/${encodeURIComponent(id)}`;
}

/** @param {Fresh} fresh */
async function tellSecret({ key, secret, othersUntil }) {
  if (secret !== null) {
    await showSecret(key.id, secret, ...othersNote(othersUntil));
    return;
  }
  await askInDialog({
    title: 'It was done before',
    content: [
      element('p', {}, `The answer with the secret of ${key.id} was lost. Rotate the key to get another.`),
    ],
    action: 'Close',
    act: async () => undefined,
  });
}

/**
 * @param {Fresh['othersUntil']} until
 * @returns {readonly (Node | string)[]}
 */
function othersNote(until) {
  if (until === undefined) return [];
  if (until === null) return ['The secrets before it do not work any more.'];
  return ['The secrets before it work until ', showInstant(until, ''), '.'];
}
