import type { Route } from '../config/config.ts';
import { covers } from '../keys/scopes.ts';
import { Refusal } from '../refusals.ts';

/** Caller + Route → nothing. 403 when the key is limited to other endpoints. */
export function authorise(caller: { readonly scopes: readonly string[] }, route: Route, path: string): void {
  if (!covers(caller.scopes, route, path)) throw new Refusal('key_not_allowed');
}
