import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isLoopback, parseAddress } from '../config/addresses.ts';
import type { AdminToken, Config } from '../config/config.ts';
import { countFailedKeys } from '../keys/failed-keys.ts';
import type { Logger } from '../telemetry/log.ts';
import { peerOf } from '../wire/client-address.ts';
import { AdminProblem } from './problem.ts';

/** How many invalid tokens a network may send in a minute before it is told to slow down. */
const failuresMax = 20;
const perMs = 60_000;

/** Decides who gets past the probes. The address is the configured one; its port may be 0. */
export function createGuard({ admin }: Pick<Config, 'admin'>, logger: Logger) {
  const countFailed = countFailedKeys({
    failuresMax,
    perMs,
    mono: () => performance.now(),
    report: (report) =>
      logger.warn(report, 'too many admin tokens that are not valid: somebody may be guessing'),
  });
  return {
    /** Throws unless the request was meant for this listener. */
    checkHost(req: IncomingMessage): void {
      if (!isLoopback(admin.listen)) return;
      if (isLoopbackHost(givenOnce(req, 'host') ?? '')) return;
      throw new AdminProblem('misdirected', 'This listener answers to localhost or a loopback address');
    },
    /** The token that the request shows; undefined where none is required. Throws when it shows no valid one. */
    identify(req: IncomingMessage): AdminToken | undefined {
      if (admin.tokens.length === 0) return undefined;
      const given = bearerOf(givenOnce(req, 'authorization'));
      // Looking for an empty one would let everybody in where a hash is that of a variable which was not set.
      const token = given === undefined ? undefined : findToken(given, admin.tokens);
      if (token !== undefined) return token;
      // A request without a token is not a guess.
      const slowed = given === undefined ? undefined : countFailed(peerOf(req.socket));
      if (slowed !== undefined) {
        throw new AdminProblem('too_many_failures', 'Too many tokens that are not valid', {
          headers: { 'Retry-After': String(slowed.retryInSeconds) },
        });
      }
      throw new AdminProblem('token_required', 'A valid admin token is required', {
        headers: { 'WWW-Authenticate': 'Bearer realm="gatehouse admin"' },
      });
    },
  };
}

/**
 * Compares with every token, whichever fits, so the time it takes shows neither the length nor the content of one, nor which of
 * them it is.
 */
function findToken(given: string, tokens: readonly AdminToken[]): AdminToken | undefined {
  const digest = hash('sha256', given, 'buffer');
  let found: AdminToken | undefined;
  for (const token of tokens) {
    if (timingSafeEqual(digest, Buffer.from(token.digest, 'hex'))) found = token;
  }
  return found;
}

/** The token of an `Authorization: Bearer …` header; undefined when there is none. */
function bearerOf(authorization = ''): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization)?.[1];
}

/** The value of a header that came once: of two, either may be the one that was meant. */
function givenOnce(req: IncomingMessage, name: 'host' | 'authorization'): string | undefined {
  const [value, ...others] = req.headersDistinct[name] ?? [];
  return others.length === 0 ? value : undefined;
}

/** A web page can reach a loopback address under a name of its choice (DNS rebinding), and the Host then shows that name. */
function isLoopbackHost(host: string): boolean {
  const address = parseAddress(/:\d+$/.test(host) ? host : `${host}:80`);
  return address !== undefined && isLoopback(address);
}
