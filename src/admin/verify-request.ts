import { isIP } from 'node:net';
import type { Config } from '../config/config.ts';
import type { KeyBook } from '../keys/key-book.ts';
import { invalidField } from '../keys/key-problem.ts';
import type { Verdict } from '../keys/verify-key.ts';
import { createWording, Refusal } from '../refusals.ts';
import { authorise } from '../stages/authorise.ts';
import { checkTarget, maySayBearer, withoutBearer } from '../stages/check-request.ts';
import { createRouteTable, findRoute } from '../stages/find-route.ts';
import { checkUsageMethod } from '../stages/show-usage.ts';
import { writeAddress } from '../wire/client-address.ts';
import { http } from '../wire/http.ts';

/** A request that somebody might send with a key. */
export interface ImaginedRequest {
  /** An address; undefined for any that the key may be used from. */
  readonly from?: string | undefined;
  /** As in a request line, with its query if it has one; undefined for none in particular. */
  readonly path?: string | undefined;
  readonly method?: string | undefined;
}

/** What the gateway would say: `valid` takes the route into account, too. */
export interface RequestVerdict extends Verdict {
  /** The answer that a caller would get; null when the request would go on. */
  readonly answer: { readonly status: number; readonly body: string } | null;
}

/** Every reason of a verdict, in words for people. */
export const verdictReasons = {
  good: 'it is in order',
  missing: 'no key was given',
  mistyped: 'it begins as our keys do and has a mistake in it',
  unknown: 'no key has this secret',
  wrong_network: 'it may not be used from this address',
  plan_unknown: 'its plan is not in the configuration',
  revoked: 'it was revoked',
  disabled: 'it is disabled',
  not_yet_valid: 'it is not valid yet',
  expired: 'it has expired',
  secret_expired: 'it was rotated, and the overlap is over',
} as const satisfies Record<Verdict['reason'], string>;

/** No header has them around its value (RFC 9110 §5.5); blanks beyond ASCII it has, and keys with them are other keys. */
const blanksAround = /^[ \t\r\n]+|(?<![ \t\r\n])[ \t\r\n]+$/g;

/** Throws a `KeyProblem` for an address that is none. */
export function requireAddress(from: string | undefined): void {
  if (from !== undefined && isIP(from) === 0) throw invalidField('from', 'is not an IP address');
}

/**
 * Says what the gateway would say to a secret, or, with a path, to a request with it. Nothing is charged or counted. Throws a
 * `KeyProblem` for an address that is none.
 */
export async function verifyRequest(
  secret: string,
  { from, path, method = 'GET' }: ImaginedRequest,
  { book, config }: { readonly book: Pick<KeyBook, 'verify'>; readonly config: Config },
): Promise<RequestVerdict> {
  requireAddress(from);
  const client = from === undefined ? undefined : writeAddress(from);
  const value = secret.replaceAll(blanksAround, '');
  const key = maySayBearer(config.auth.headers) ? withoutBearer(value) : value;
  const verdict = await book.verify(key, client);
  const refusal = refusalOf(verdict, { path, method }, config);
  if (refusal === undefined) return { ...verdict, answer: null };
  const { status, body } = createWording(config.errors)(refusal);
  return { ...verdict, valid: false, refusal: refusal.code, answer: { status, body } };
}

/** The stages that ask neither store nor upstream, in the order of the journey. */
function refusalOf(
  { refusal, key }: Verdict,
  { path: target, method: written }: { readonly path: string | undefined; readonly method: string },
  { routes, usagePath }: Config,
): Refusal | undefined {
  try {
    const method = written.toUpperCase();
    if (!http.METHODS.includes(method)) return new Refusal('request_malformed');
    const path = target === undefined ? undefined : checkTarget(target).path;
    if (refusal !== null && refusal !== 'plan_unknown') return new Refusal(refusal);
    if (path !== undefined && path === usagePath) checkUsageMethod({ method });
    else if (path !== undefined) {
      const route = findRoute({ path, method }, createRouteTable(routes), Date.now());
      authorise({ scopes: key?.scopes ?? [] }, route, path);
    }
    // What the plan allows is asked last.
    return refusal === null ? undefined : new Refusal(refusal);
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}
