import type { ServerResponse } from 'node:http';
import type { Route } from '../config/config.ts';
import type { PlanRule } from '../config/plan-rule.ts';
import type { Grant } from '../quota/grants.ts';
import { requirePlan } from '../quota/plan-of.ts';
import type { QuotaReading } from '../quota/quota-reading.ts';
import type { Decision, Quotas } from '../quota/quotas.ts';
import type { WhenLeft } from '../quota/reserve-order.ts';
import { Refusal } from '../refusals.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Caller } from './authenticate.ts';

export interface Admission {
  readonly plans: ReadonlyMap<string, PlanRule>;
  readonly quotas: Pick<Quotas, 'reserve'>;
  readonly count: Metrics['countDecision'];
  /** Told of a quota that has just come near its limit: once for each caller, quota and period. */
  readonly warn: (caller: Caller, quota: QuotaReading) => void;
}

/**
 * Caller + Route → Grant, reserved and not yet charged. 429 499 500 503.
 * Answers at once while this process holds units of the caller's quotas. Nothing stays reserved for a client that leaves during a
 * wait. Whoever gets the grant must settle it.
 */
export function admit(
  res: ServerResponse,
  { caller, route }: { readonly caller: Caller; readonly route: Route },
  by: Admission,
): Grant | Promise<Grant> {
  const plan = requirePlan(caller, by.plans);
  const { cost } = route;
  const decision = by.quotas.reserve({ keyId: caller.keyId, plan, cost, whenLeft: whenLeft(res) });
  return decision instanceof Promise ? waitFor(decision, { caller, res }, by) : judge(decision, caller, by);
}

/** The headers that tell the caller its limits, as they are now. */
export function tellLimits(grant: Grant, caller: Caller, by: Admission): Readonly<Record<string, string>> {
  const { headers, newWarnings } = grant.describe();
  for (const quota of newWarnings) by.warn(caller, quota);
  return headers;
}

function whenLeft(res: ServerResponse): WhenLeft {
  return function listen(tell) {
    const leave = (): void => tell(new Refusal('client_gone'));
    if (res.destroyed) leave();
    else res.once('close', leave);
    return () => res.off('close', leave);
  };
}

async function waitFor(
  decision: Promise<Decision>,
  { caller, res }: { caller: Caller; res: ServerResponse },
  by: Admission,
): Promise<Grant> {
  try {
    const decided = await decision;
    if (!res.destroyed) return judge(decided, caller, by);
    if (decided.kind === 'grant') decided.settle({ kind: 'unsent' });
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'client_gone') throw error;
  }
  by.count(caller.plan, 'client_gone');
  throw new Refusal('client_gone');
}

function judge(decision: Decision, caller: Caller, by: Admission): Grant {
  const { plan } = caller;
  if (decision.kind === 'grant') {
    by.count(plan, decision.owed ? 'owed' : 'granted');
    return decision;
  }
  const { code, headers, newWarnings, cause, detail } = decision;
  by.count(plan, code);
  for (const quota of newWarnings) by.warn(caller, quota);
  throw new Refusal(code, { headers, cause, detail });
}
