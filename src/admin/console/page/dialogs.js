import { Problem } from './api.js';
import { button, element, explained, onSubmit } from './elements.js';

/**
 * Opens a form, and resolves with its result; undefined when it was cancelled. While its action runs it cannot be cancelled: a
 * new secret would be lost.
 *
 * @template T
 * @param {{ title: string, content: readonly Node[], action: string, danger?: boolean, act: () => Promise<T> }} form
 * @returns {Promise<T | undefined>}
 */
export function askInDialog({ title, content, action, danger = false, act }) {
  const { promise, resolve } = Promise.withResolvers();
  const place = element('div');
  const submit = element('button', { type: 'submit', className: danger ? 'danger' : 'primary' }, action);
  const cancel = button('Cancel', () => dialog.close());
  const buttons = element('div', { className: 'buttons' }, cancel, submit);
  // Long forms scroll beneath it: whatever is refused is told where it is seen.
  const footer = element('footer', {}, place, buttons);
  const form = element('form', { method: 'dialog' }, element('h2', {}, title), ...content, footer);
  const dialog = openDialog(form);
  let busy = false;

  /** @param {boolean} now */
  function setBusy(now) {
    busy = now;
    submit.disabled = now;
    cancel.disabled = now;
    // On a second Escape some browsers close the dialog without asking.
    dialog.setAttribute('closedby', now ? 'none' : 'closerequest');
  }
  onSubmit(form, async () => {
    setBusy(true);
    place.replaceChildren();
    try {
      resolve(await act());
      dialog.close();
    } catch (error) {
      place.replaceChildren(explained(error));
      markFaults(form, error);
    }
    setBusy(false);
    /** @type {HTMLElement | null} */
    const firstFault = form.querySelector('[aria-invalid=true]');
    firstFault?.focus();
  });
  dialog.addEventListener('cancel', (event) => {
    if (busy) event.preventDefault();
  });
  dialog.addEventListener('close', () => {
    if (!busy) resolve(undefined);
  });
  return promise;
}

/**
 * Shows a secret, the only time that it can be shown. Only the button closes it, and then it is gone from the page.
 *
 * @param {string} keyId
 * @param {string} secret
 * @param {...(Node | string)} note
 * @returns {Promise<void>}
 */
export function showSecret(keyId, secret, ...note) {
  const { promise, resolve } = Promise.withResolvers();
  const code = element('code', { className: 'secret', tabIndex: 0 }, secret);
  const said = element('p', { role: 'status' });
  const dialog = openDialog(
    element('h2', {}, `The secret of ${keyId}`),
    element(
      'p',
      { className: 'warning' },
      'This is the only time that it is shown. Copy it now: nobody can ask for it again.',
    ),
    code,
    ...(note.length === 0 ? [] : [element('p', {}, ...note)]),
    said,
    element(
      'div',
      { className: 'buttons' },
      button('Copy', async () => said.replaceChildren(await copy(secret, code)), 'primary'),
      button('I have copied it', () => dialog.close()),
    ),
  );
  dialog.setAttribute('closedby', 'none');
  dialog.addEventListener('cancel', (event) => event.preventDefault());
  window.addEventListener('beforeunload', askBeforeLeaving);
  dialog.addEventListener('close', () => {
    window.removeEventListener('beforeunload', askBeforeLeaving);
    resolve(undefined);
  });
  return promise;
}

/** @param {Event} event */
function askBeforeLeaving(event) {
  event.preventDefault();
}

/** Closes the open forms. A secret stays: it cannot be shown again. */
export function closeForms() {
  for (const form of document.querySelectorAll('dialog > form')) form.closest('dialog')?.close();
}

/**
 * Marks the inputs of invalid fields; what is wrong with them has already been said.
 *
 * @param {HTMLFormElement} form
 * @param {unknown} error
 */
function markFaults(form, error) {
  const faults = error instanceof Problem ? error.fields : [];
  // A fault in a quota names quotas[0].limit.
  const names = new Set(faults.map(({ field }) => /^\w*/.exec(field)?.[0]));
  for (const input of form.querySelectorAll('[name]')) {
    input.setAttribute('aria-invalid', String(names.has(input.getAttribute('name') ?? '')));
  }
}

/** @param {...Node} content */
function openDialog(...content) {
  const dialog = element('dialog', {}, ...content);
  dialog.setAttribute('aria-label', dialog.querySelector('h2')?.textContent ?? '');
  dialog.addEventListener('close', () => {
    dialog.remove();
    // The button that opened it may have been replaced since.
    if (document.activeElement === document.body) document.querySelector('main')?.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/**
 * Without TLS browsers give scripts no clipboard, except on loopback.
 *
 * @param {string} secret
 * @param {Element} shown
 */
async function copy(secret, shown) {
  try {
    await navigator.clipboard.writeText(secret);
    return 'Copied';
  } catch {
    document.getSelection()?.selectAllChildren(shown);
    return 'The browser does not let this page copy. The secret is selected: copy it by hand';
  }
}
