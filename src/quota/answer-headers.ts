import { concurrencyName, rateName } from '../config/quota-names.ts';
import type { QuotaReading } from './quota-reading.ts';

/** What is known of a rate. */
export interface RateReading {
  readonly burst: number;
  /** So many requests may pass now. */
  readonly remaining: number;
  readonly windowSeconds: number;
  /** When another may pass, at the latest. */
  readonly nextInSeconds: number;
  /** When the whole burst is free again. */
  readonly resetInSeconds: number;
}

/** What is known of a concurrency limit. */
export interface ConcurrencyReading {
  readonly limit: number;
  readonly remaining: number;
}

/** Everything that limits a key, as far as it was asked. */
export interface LimitReadings {
  readonly quotas: readonly QuotaReading[];
  readonly rate: RateReading | undefined;
  readonly concurrency: ConcurrencyReading | undefined;
}

/**
 * The headers that tell a caller its limits (draft-ietf-httpapi-ratelimit-headers-11). Names of limits are lower-case
 * letters, digits, `_` and `-`, so they need no escaping in a structured-field string.
 */
export function writeLimitHeaders(readings: LimitReadings): Record<string, string> {
  const headers: Record<string, string> = {};
  let policy = '';
  let state = '';
  let near = '';
  for (const { name, limit, remaining, resetInSeconds, windowSeconds, isNearLimit } of readings.quotas) {
    const window = windowSeconds === undefined ? '' : `;w=${windowSeconds}`;
    const reset = resetInSeconds === undefined ? '' : `;t=${resetInSeconds}`;
    policy = append(policy, `"${name}";q=${sfInteger(limit)}${window}`);
    state = append(state, `"${name}";r=${sfInteger(remaining)}${reset}`);
    if (isNearLimit) near = append(near, `"${name}"`);
  }
  if (readings.rate !== undefined) {
    const { burst, remaining, windowSeconds, resetInSeconds } = readings.rate;
    policy = append(policy, `"${rateName}";q=${sfInteger(burst)};w=${windowSeconds}`);
    state = append(state, `"${rateName}";r=${sfInteger(remaining)};t=${resetInSeconds}`);
  }
  if (readings.concurrency !== undefined) {
    const { limit, remaining } = readings.concurrency;
    policy = append(policy, `"${concurrencyName}";q=${sfInteger(limit)};qu="concurrent-requests"`);
    state = append(state, `"${concurrencyName}";r=${sfInteger(remaining)}`);
  }
  if (policy === '') return headers;
  headers['RateLimit-Policy'] = policy;
  headers['RateLimit'] = state;
  if (near !== '') headers['X-Gatehouse-Quota-Warning'] = near;
  return headers;
}

function append(list: string, item: string): string {
  return list === '' ? item : `${list}, ${item}`;
}

/** Integers in structured fields have at most fifteen digits (RFC 9651, section 3.3.1). */
function sfInteger(value: number): number {
  return Math.min(value, 999_999_999_999_999);
}
