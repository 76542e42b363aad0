import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writeLimitHeaders, type LimitReadings } from '../../../src/quota/answer-headers.ts';
import type { QuotaReading } from '../../../src/quota/quota-reading.ts';

const monthly: QuotaReading = {
  name: 'monthly',
  limit: 1000,
  used: 988,
  remaining: 12,
  resetInSeconds: 86_400,
  windowSeconds: 2_678_400,
  isNearLimit: false,
};

const none: LimitReadings = { quotas: [], rate: undefined, concurrency: undefined };

test('a key without limits gets no headers', () => {
  assert.deepEqual(writeLimitHeaders(none), {});
});

test('every limit of a key stands in one list, in the syntax of the draft', () => {
  const lifetime = {
    ...monthly,
    name: 'total',
    limit: 9e15,
    resetInSeconds: undefined,
    windowSeconds: undefined,
  };
  const headers = writeLimitHeaders({
    quotas: [monthly, lifetime],
    rate: { burst: 20, remaining: 19, windowSeconds: 2, nextInSeconds: 0, resetInSeconds: 1 },
    concurrency: { limit: 8, remaining: 7 },
  });
  assert.deepEqual(headers, {
    'RateLimit-Policy':
      '"monthly";q=1000;w=2678400, "total";q=999999999999999, "rate";q=20;w=2, "concurrency";q=8;qu="concurrent-requests"',
    RateLimit: '"monthly";r=12;t=86400, "total";r=12, "rate";r=19;t=1, "concurrency";r=7',
  });
});

test('a quota above its warning line is named', () => {
  const headers = writeLimitHeaders({ ...none, quotas: [{ ...monthly, isNearLimit: true }] });
  assert.equal(headers['X-Gatehouse-Quota-Warning'], '"monthly"');
});
