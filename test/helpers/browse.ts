import { Browser, BrowserErrorCaptureEnum, type BrowserWindow, type HTMLElement } from 'happy-dom';
import { until, type Scene } from './poll.ts';

/** A page in a browser of this process, with what a person at it sees and does. */
export interface Visitor {
  readonly window: BrowserWindow;
  /** All text that is on the page. */
  text(): string;
  /** Waits for this text. */
  sees(text: string | RegExp): Promise<void>;
  /** Waits for the button or link of this name, and clicks on it. */
  click(name: string): Promise<void>;
  /** Waits for the input of this label, and fills it. */
  fill(label: string, value: string): Promise<void>;
  /** The buttons and links that can be seen, by their names, once the page waits for nothing. */
  controls(): Promise<string[]>;
}

/** Opens a page as a browser does: over the network, with its scripts. */
export async function browse(t: Scene, url: string): Promise<Visitor> {
  const browser = new Browser({
    settings: {
      enableJavaScriptEvaluation: true,
      suppressInsecureJavaScriptEnvironmentWarning: true,
      errorCapture: BrowserErrorCaptureEnum.processLevel,
    },
  });
  t.after(() => browser.close());
  const page = browser.newPage();
  await page.goto(url);
  const window = page.mainFrame.window;
  const { document } = window;
  // What is modal keeps a person from all the rest.
  const place = (): HTMLElement =>
    ([...document.querySelectorAll('dialog')].at(-1) as HTMLElement | undefined) ?? document.body;
  const text = (): string => document.body.textContent;
  const controlsIn = (at: HTMLElement): HTMLElement[] =>
    [...at.querySelectorAll('button, a')].map((one) => one as HTMLElement).filter(isShown);
  function isShown(one: HTMLElement): boolean {
    const isLeftOut = one.closest('[hidden], [inert]') !== null;
    const isHidden = one.closest('.change') !== null && document.querySelector('.reads-only') !== null;
    return !isLeftOut && !isHidden;
  }
  return {
    window,
    text,
    async sees(wanted) {
      const has = (): boolean => (typeof wanted === 'string' ? text().includes(wanted) : wanted.test(text()));
      await until(has, { what: `“${wanted}” on the page` }).catch((cause: unknown) => {
        throw new Error(`“${wanted}” is not on the page: ${text()}`, { cause });
      });
    },
    async click(name) {
      const find = () =>
        controlsIn(place()).find((one) => nameOf(one) === name && !one.hasAttribute('disabled'));
      (await until(find, { what: `the button ${name}` })).click();
    },
    async fill(label, value) {
      const find = () =>
        [...place().querySelectorAll('label')].find(
          (one) => one.querySelector('span')?.textContent === label,
        );
      const found = await until(find, { what: `the input ${label}` });
      const input = found.querySelector('input, select, textarea') as unknown as { value: string };
      input.value = value;
    },
    async controls() {
      await until(() => document.querySelector('[inert]') === null, { what: 'the page waits for nothing' });
      return controlsIn(place()).map(nameOf);
    },
  };
}

function nameOf(one: HTMLElement): string {
  return one.getAttribute('aria-label') ?? one.textContent;
}
