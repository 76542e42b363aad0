import { hash, timingSafeEqual } from 'node:crypto';
import type { AdminToken } from '../config/config.ts';

/** Finds the token that was given. */
export type FindToken = (given: string) => AdminToken | undefined;

/**
 * Compares with every token, whichever fits, so the time it takes shows neither the length nor the content of one, nor which of
 * them it is.
 */
export function createTokenFinder(tokens: readonly AdminToken[]): FindToken {
  const known = tokens.map((token) => ({ token, digest: Buffer.from(token.digest, 'hex') }));
  return function findToken(given) {
    const digest = hash('sha256', given, 'buffer');
    let found: AdminToken | undefined;
    for (const one of known) if (timingSafeEqual(digest, one.digest)) found = one.token;
    return found;
  };
}

/** The token of an `Authorization: Bearer …` header; undefined when there is none. */
export function bearerOf(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
}
