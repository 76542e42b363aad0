import { BoundedMap } from '../collections/bounded-map.ts';
import { isPeriodUnit, type PlanRule, type QuotaRule } from '../config/plan-rule.ts';
import { Refusal } from '../refusals.ts';
import type { KeyRecord, OwnQuota } from '../stores/key-store.ts';

/** What a key says about its limits. */
type Entitlement = Pick<KeyRecord, 'plan' | 'quotas'>;

/** The rules of so many keys with quotas of their own are kept; those of more are made again when they are needed. */
const keptMax = 10_000;

const merged = new WeakMap<PlanRule, BoundedMap<string, PlanRule>>();

/**
 * The limits of a key: those of its plan, with the key's own quotas in them. Undefined when the plan is unknown. Equal keys get
 * the very same object, which leases hold on to: an added secret or a reread record must not look like another plan.
 */
export function planOf(
  { plan: name, quotas }: Entitlement,
  plans: ReadonlyMap<string, PlanRule>,
): PlanRule | undefined {
  const plan = plans.get(name);
  if (plan === undefined || quotas.length === 0) return plan;
  const known = merged.getOrInsertComputed(plan, () => new BoundedMap(keptMax));
  const words = JSON.stringify(quotas);
  const kept = known.get(words);
  if (kept !== undefined) return kept;
  const rule = { ...plan, quotas: mergeQuotas(plan.quotas, quotas) };
  known.set(words, rule);
  return rule;
}

/** The same for a caller. 500: without its plan it would be unlimited, which is worse than being turned away. */
export function requirePlan(caller: Entitlement, plans: ReadonlyMap<string, PlanRule>): PlanRule {
  const plan = planOf(caller, plans);
  if (plan === undefined) throw new Refusal('plan_unknown', { detail: `no plan is called ${caller.plan}` });
  return plan;
}

function mergeQuotas(quotas: readonly QuotaRule[], own: readonly OwnQuota[]): readonly QuotaRule[] {
  const ofPlan = new Map(quotas.map((quota) => [quota.name, quota]));
  const owned = new Map(own.map((quota) => [quota.name, ruleOf(quota, ofPlan.get(quota.name))]));
  const joined = [...owned.values()].filter(({ name }) => !ofPlan.has(name));
  return [...quotas.map((quota) => owned.get(quota.name) ?? quota), ...joined];
}

/** Without a period it has that of the plan's quota. If the plan no longer has that quota, a lifetime is the strictest reading. */
function ruleOf({ name, limit, per, timezone = 'UTC' }: OwnQuota, inPlan: QuotaRule | undefined): QuotaRule {
  if (per === undefined && inPlan !== undefined) return { ...inPlan, limit };
  const unit = isPeriodUnit(per) ? per : 'lifetime';
  const period = { per: unit, timezone, anchorMonth: 1, anchorDay: 1, anchorMinute: 0 };
  return { name, limit, period, warnAt: inPlan?.warnAt };
}
