import { element } from './elements.js';

const everyMs = 10_000;
const patienceMs = 5_000;

/**
 * Shows whether the gateway is ready, with its reasons, while the page is open.
 *
 * @param {Element} place
 */
export async function watchReadiness(place) {
  let shown = '';
  for (;;) {
    const { className, words, reasons } = await look();
    const now = [words, ...reasons].join('\n');
    // What has not changed is not read out again by screen readers.
    if (now !== shown) {
      const list =
        reasons.length === 0
          ? []
          : [element('ul', {}, ...reasons.map((reason) => element('li', {}, reason)))];
      place.replaceChildren(element('strong', { className }, words), ...list);
      shown = now;
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

/** @returns {Promise<{ className: string, words: string, reasons: readonly string[] }>} */
async function look() {
  try {
    const answer = await fetch('readyz', { cache: 'no-store', signal: AbortSignal.timeout(patienceMs) });
    const { reasons } = await answer.json();
    // Something in between may have answered, in JSON too.
    if (!Array.isArray(reasons)) throw new TypeError('no reasons');
    return answer.ok
      ? { className: 'good', words: 'Ready', reasons }
      : { className: 'bad', words: 'Not ready', reasons };
  } catch {
    return { className: 'bad', words: 'The gateway cannot be reached', reasons: [] };
  }
}
