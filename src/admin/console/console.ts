import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { AdminProblem } from '../problem.ts';
import { commonHeaders } from '../send-answer.ts';

/** The page from which people administer keys in a browser. */
export interface Console {
  /** Answers a request for a file of the page, and says whether it was one. Throws for a method that reads nothing. */
  serve(req: IncomingMessage, res: ServerResponse): boolean;
}

/** All files of the page by their paths. What is not named here is not served, whatever lies in the folder. */
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
 * The page holds the token of an operator, so it runs its own scripts alone, asks nobody but this listener, and stands in no
 * frame. Trusted Types make the browser refuse markup that is made of text, should a script ever try. Nothing of it is kept
 * (`no-store`, as all of this listener): page and scripts are always those of one release.
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

/** Creates the console: its files are read now, and held. */
export function createConsole(): Console {
  const files = new Map(Object.entries(names).map(([path, name]) => [path, readFile(name)]));
  return {
    serve(req, res) {
      // Compared to the letter, as the paths of the API are.
      const file = files.get((req.url ?? '').split('?', 1)[0] ?? '');
      if (file === undefined) return false;
      if (req.method !== 'GET' && req.method !== 'HEAD') {
        throw new AdminProblem('method_not_allowed', 'Method not allowed', {
          headers: { Allow: 'GET, HEAD' },
        });
      }
      res.writeHead(200, {
        ...commonHeaders,
        ...pageHeaders,
        'Content-Type': file.type,
        'Content-Length': file.bytes.length,
      });
      // Of an answer to HEAD Node sends the headers alone.
      res.end(file.bytes);
      return true;
    },
  };
}

function readFile(name: string): { readonly type: string; readonly bytes: Buffer } {
  const type = types[name.slice(name.lastIndexOf('.') + 1)] ?? '';
  return { type, bytes: readFileSync(new URL(`page/${name}`, import.meta.url)) };
}
