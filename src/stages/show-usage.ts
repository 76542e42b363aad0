import type { ServerResponse } from 'node:http';
import { writeInstant } from '../config/instants.ts';
import type { PlanRule } from '../config/plan-rule.ts';
import { requirePlan } from '../quota/plan-of.ts';
import type { Quotas } from '../quota/quotas.ts';
import type { UsageReading } from '../quota/usage-reading.ts';
import { Refusal, soon } from '../refusals.ts';
import { StoreUnavailable } from '../stores/store-unavailable.ts';
import { sendJson } from '../wire/send-json.ts';
import type { Caller } from './authenticate.ts';
import type { Head } from './check-request.ts';

export interface UsageDesk {
  /** undefined = nowhere. */
  readonly path: string | undefined;
  readonly plans: ReadonlyMap<string, PlanRule>;
  readonly quotas: Pick<Quotas, 'read'>;
}

/**
 * Caller → its own usage as JSON. 405 499 500 503.
 * Asks no limit and takes nothing from any: a caller that has used up everything can still read it.
 */
export async function showUsage(
  res: ServerResponse,
  { head, caller, requestId }: { head: Head; caller: Caller; requestId: string },
  by: UsageDesk,
): Promise<void> {
  checkUsageMethod(head);
  const plan = requirePlan(caller, by.plans);
  const readings = await read(caller, plan, by);
  if (res.destroyed) throw new Refusal('client_gone');
  const body = JSON.stringify(describe(caller, plan, readings));
  const headers = ['X-Request-Id', requestId];
  sendJson(res, { status: 200, body, headers, isLast: false });
}

/** Usage can be read, and no more. 405. */
export function checkUsageMethod({ method }: Pick<Head, 'method'>): void {
  if (method === 'GET' || method === 'HEAD') return;
  throw new Refusal('method_not_allowed', { headers: { Allow: 'GET, HEAD' } });
}

async function read(caller: Caller, plan: PlanRule, { quotas }: UsageDesk): Promise<readonly UsageReading[]> {
  try {
    return await quotas.read(caller.keyId, plan);
  } catch (cause) {
    if (!(cause instanceof StoreUnavailable)) throw cause;
    throw new Refusal('quota_unavailable', { cause, headers: soon });
  }
}

function describe({ keyId, plan: name }: Caller, plan: PlanRule, readings: readonly UsageReading[]): object {
  const { rate, concurrency } = plan;
  return {
    key: keyId,
    plan: name,
    quotas: readings.map((reading, index) => ({
      name: reading.name,
      limit: reading.limit,
      per: plan.quotas[index]?.period.per,
      used: reading.used,
      remaining: reading.remaining,
      resetsAt: writeInstant(reading.resetsAt),
    })),
    rate: rate === undefined ? null : { limit: rate.limit, perSeconds: rate.perMs / 1000, burst: rate.burst },
    concurrency: concurrency?.limit ?? null,
  };
}
