import type { Config } from './config/config.ts';
import type { KeyBook } from './keys/key-book.ts';
import { covers } from './keys/scopes.ts';
import type { Verdict } from './keys/verify-key.ts';
import { createWording, Refusal, type RefusalCode } from './refusals.ts';
import { createRouteTable, findRoute } from './stages/find-route.ts';

/** A request that somebody might send with a key. */
export interface ImaginedRequest {
  /** An address; undefined for any that the key may be used from. */
  readonly client?: string | undefined;
  /** Undefined for none in particular. */
  readonly path?: string | undefined;
  readonly method?: string | undefined;
}

/** What the gateway would say: `valid` takes the route into account, too. */
export interface RequestVerdict extends Verdict {
  /** The answer that a caller would get; null when the request would go on. */
  readonly answer: { readonly status: number; readonly body: string } | null;
}

/** Says what the gateway would say to a secret, and if a path is given to a request for it. Nothing is charged or counted. */
export async function verifyRequest(
  secret: string,
  { client, path, method = 'GET' }: ImaginedRequest,
  { book, config }: { readonly book: Pick<KeyBook, 'verify'>; readonly config: Config },
): Promise<RequestVerdict> {
  const verdict = await book.verify(secret, { client });
  const refusal = verdict.refusal ?? refusalOnRoute(verdict, { path, method }, config);
  if (refusal === null) return { ...verdict, answer: null };
  const { status, body } = createWording(config.errors)(new Refusal(refusal));
  return { ...verdict, valid: false, refusal, answer: { status, body } };
}

/** How a request with this path would go on after its key was found to be in order. */
function refusalOnRoute(
  verdict: Verdict,
  { path, method }: { readonly path: string | undefined; readonly method: string },
  { routes }: Config,
): RefusalCode | null {
  if (path === undefined) return null;
  try {
    const route = findRoute({ path, method: method.toUpperCase() }, createRouteTable(routes), Date.now());
    return covers(verdict.key?.scopes ?? [], route, path) ? null : 'key_not_allowed';
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
}
