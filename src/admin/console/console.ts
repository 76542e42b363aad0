import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { onlyRead } from '../problem.ts';
import { sendText } from '../send-answer.ts';

/** All files of the page, by path. Nothing else is served, whatever is in the folder. */
const names: Readonly<Record<string, string>> = {
  '/': 'page.html',
  '/console/page.css': 'page.css',
  '/console/icon.svg': 'icon.svg',
  '/console/page.js': 'page.js',
  '/console/api.js': 'api.js',
  '/console/dialogs.js': 'dialogs.js',
  '/console/elements.js': 'elements.js',
  '/console/key-changes.js': 'key-changes.js',
  '/console/key-details.js': 'key-details.js',
  '/console/key-form.js': 'key-form.js',
  '/console/key-list.js': 'key-list.js',
  '/console/readiness.js': 'readiness.js',
};

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

/**
 * The page holds an operator's token, so it runs only its own scripts, calls only this listener, and cannot be framed. Trusted
 * Types make the browser refuse markup made from text, should a script ever try. None of it is cached (`no-store`, as everywhere on
 * this listener): page and scripts always come from one release.
 */
const pageHeaders = {
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    // The icon, so that no browser asks for /favicon.ico.
    "img-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
} as const;

/** Creates the page from which people administer keys in a browser. Its files are read now and kept in memory. */
export function createConsole() {
  const files = new Map(Object.entries(names).map(([path, name]) => [path, readFile(name)]));
  /** Answers a request for a file of the page; false when it is not for one. Throws for a method that does not read. */
  return function serve(req: IncomingMessage, res: ServerResponse): boolean {
    // Compared to the letter, as the paths of the API are.
    const file = files.get((req.url ?? '').split('?', 1)[0] ?? '');
    if (file === undefined) return false;
    if (req.method !== 'GET' && req.method !== 'HEAD') throw onlyRead();
    const headers = { ...pageHeaders, 'Content-Type': file.type };
    sendText(res, { status: 200, headers, text: file.text });
    return true;
  };
}

function readFile(name: string): { readonly type: string; readonly text: string } {
  const type = types[name.slice(name.lastIndexOf('.') + 1)] ?? '';
  return { type, text: readFileSync(new URL(`page/${name}`, import.meta.url), 'utf8') };
}
