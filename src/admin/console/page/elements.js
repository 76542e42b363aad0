/**
 * Makes an element. Strings become text nodes, so nothing that the API returns can be markup.
 *
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Partial<HTMLElementTagNameMap[Name]>} [properties]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/**
 * @param {string} label
 * @param {() => unknown} act
 * @param {string} [className]
 */
export function button(label, act, className = '') {
  const made = element('button', { type: 'button', className }, label);
  made.addEventListener('click', () => void act());
  return made;
}

/**
 * Does what the form is for, once for a double click: the browser itself never submits anything.
 *
 * @param {HTMLFormElement} form
 * @param {() => unknown} act
 */
export function onSubmit(form, act) {
  let busy = false;
  async function actOnce() {
    if (busy) return;
    busy = true;
    form.setAttribute('aria-busy', 'true');
    try {
      await act();
    } finally {
      busy = false;
      form.removeAttribute('aria-busy');
    }
  }
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void actOnce();
  });
}

/**
 * A label around its input, with a word of help.
 *
 * @param {string} label
 * @param {HTMLElement} input
 * @param {string} [hint]
 */
export function labelled(label, input, hint = '') {
  const help = hint === '' ? [] : [element('small', {}, hint)];
  return element('label', {}, element('span', {}, label), input, ...help);
}

/**
 * An instant in UTC, as the API and the command line write it.
 *
 * @param {string | null} instant
 * @param {string} none
 */
export function showInstant(instant, none) {
  if (instant === null) return none;
  return element(
    'time',
    { dateTime: instant, title: instant },
    `${instant.slice(0, 16).replace('T', ' ')} UTC`,
  );
}

/**
 * A table whose cells know their column, so that they can be stacked where there is no room.
 *
 * @param {string} caption
 * @param {readonly string[]} heads
 * @param {readonly (readonly (Node | string)[])[]} rows
 */
export function table(caption, heads, rows) {
  return element(
    'table',
    {},
    element('caption', {}, caption),
    element('thead', {}, element('tr', {}, ...heads.map((head) => element('th', { scope: 'col' }, head)))),
    element(
      'tbody',
      {},
      ...rows.map((cells) => element('tr', {}, ...cells.map((cell, at) => cellOf(cell, heads[at])))),
    ),
  );
}

/**
 * What went wrong, in the error's own words.
 *
 * @param {unknown} error
 */
export function explained(error) {
  const words = error instanceof Error ? error.message : String(error);
  return element('p', { className: 'problem', role: 'alert' }, words);
}

/**
 * @param {Node | string} content
 * @param {string} [head]
 */
function cellOf(content, head = '') {
  const cell = element('td', {}, content);
  cell.dataset['head'] = head;
  return cell;
}

/** Shows anew what the address asks for. */
export function reload() {
  window.dispatchEvent(new Event('hashchange'));
}
