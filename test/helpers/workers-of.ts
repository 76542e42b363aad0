import type { Gateway } from './start-gateway.ts';

/** The workers that have become ready so far, the first first. Only a log of level debug tells. */
export function workersOf(gateway: Pick<Gateway, 'logs'>): number[] {
  return gateway.logs().flatMap(({ msg, pid }) => (msg === 'a worker is ready' ? [Number(pid)] : []));
}
