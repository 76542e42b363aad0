import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import type { Scene } from './poll.ts';

/**
 * From here on no name is answered for, which servers of the loopback need as well. Returns the names that are asked for. No mock of
 * node:test: it keeps the stack of each call, and with it who made it.
 */
export function silenceResolver(t: Scene): readonly string[] {
  const asked: string[] = [];
  const { lookup } = dns;
  replaceLookup((name: string) => void asked.push(name));
  t.after(() => replaceLookup(lookup));
  return asked;
}

/** From here on each look-up fails with this code. Returns the names that are asked for. */
export function failResolver(t: Scene, code: string): readonly string[] {
  const asked: string[] = [];
  const { lookup } = dns;
  const error = Object.assign(new Error(`getaddrinfo ${code}`), { code });
  replaceLookup((name: string, _options: unknown, tell: (cause: Error) => void) => {
    asked.push(name);
    tell(error);
  });
  t.after(() => replaceLookup(lookup));
  return asked;
}

function replaceLookup(by: unknown): void {
  Reflect.set(dns, 'lookup', by);
  syncBuiltinESMExports();
}
