import { ask, isSignedIn, onRefusal, Problem, signIn, signOut } from './api.js';
import { closeForms } from './dialogs.js';
import { button, element, explained, labelled, onSubmit, reload } from './elements.js';
import { keyDetails } from './key-details.js';
import { forgetPlans } from './key-form.js';
import { forgetList, keyList } from './key-list.js';
import { watchReadiness } from './readiness.js';

/** As in the gateway. What follows the # of a link goes into a request only if it is an id. */
const keyId = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

const main = find('main');
const leave = find('sign-out');

/** Counts the views asked for: a late answer is not shown over a newer one. */
let turn = 0;

start();

function start() {
  onRefusal(heed);
  leave.addEventListener('click', () => end());
  window.addEventListener('hashchange', () => void show());
  void watchReadiness(find('readiness'));
  void greet();
}

/** Where the API is off no token helps, and its message says what does. */
async function greet() {
  try {
    await ask('GET', 'v1/pattern');
  } catch (error) {
    const code = error instanceof Problem ? error.code : '';
    if (code === 'api_off') main.replaceChildren(explained(error));
    else if (code === 'token_required') askForToken();
    else askForToken(error);
  }
}

/** @param {unknown} [problem] */
function askForToken(problem) {
  const token = element('input', {
    type: 'password',
    autocomplete: 'current-password',
    required: true,
    pattern: '\\s*[!-~]+\\s*',
    title: 'Visible ASCII characters',
  });
  const place = element('div', {}, ...(problem === undefined ? [] : [explained(problem)]));
  const warning = 'This connection is not encrypted: whoever is in between can read the token.';
  const form = element(
    'form',
    // Nothing in it has a name, so no browser can put it into a URL by itself.
    { className: 'sign-in' },
    element('h1', {}, 'Sign in'),
    ...(window.isSecureContext ? [] : [element('p', { className: 'warning' }, warning)]),
    labelled(
      'Admin token',
      token,
      'The one of admin.token, or one of admin.tokens. This page keeps it until it is closed.',
    ),
    element('button', { type: 'submit', className: 'primary' }, 'Sign in'),
    place,
  );
  onSubmit(form, async () => {
    signIn(token.value.trim());
    try {
      await ask('GET', 'v1/pattern');
      leave.hidden = false;
      await show();
    } catch (error) {
      // For an invalid token `heed` has already shown a new form.
      signOut();
      place.replaceChildren(explained(error));
    }
  });
  main.replaceChildren(form);
  token.focus();
}

/**
 * Forgets the token, and everything shown with it.
 *
 * @param {Problem} [problem]
 */
function end(problem) {
  turn += 1;
  signOut();
  closeForms();
  forgetList();
  forgetPlans();
  document.title = 'Gatehouse';
  leave.hidden = true;
  main.toggleAttribute('inert', false);
  document.documentElement.classList.remove('reads-only');
  askForToken(problem);
}

/**
 * The API does not say in advance what a token may do. Once it has refused a change, the buttons for changes go.
 *
 * @param {Problem} problem
 */
function heed(problem) {
  if (problem.code === 'read_only') document.documentElement.classList.add('reads-only');
  if (problem.code === 'token_required' && isSignedIn()) end(problem);
}

/** Shows what the address asks for: a key, or the list. */
async function show() {
  if (!isSignedIn()) return;
  turn += 1;
  const mine = turn;
  const id = location.hash.slice(1);
  main.toggleAttribute('inert', true);
  const view = await viewOf(id).catch((error) =>
    element('section', {}, explained(error), button('Try again', reload)),
  );
  if (mine !== turn) return;
  main.toggleAttribute('inert', false);
  main.replaceChildren(view);
  document.title = id === '' ? 'Gatehouse' : `${id} – Gatehouse`;
  // By itself the browser would move what stands above it out of sight.
  main.focus({ preventScroll: true });
  window.scrollTo(0, 0);
}

/** @param {string} id */
async function viewOf(id) {
  if (id === '') return await keyList();
  if (keyId.test(id)) return await keyDetails(id);
  throw new Error('This is not the id of a key');
}

/** @param {string} id */
function find(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no ${id}`);
  return found;
}
