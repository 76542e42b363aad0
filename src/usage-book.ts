import type { Config } from './config/config.ts';
import type { PlanRule } from './config/plan-rule.ts';
import { suggest } from './config/wording.ts';
import { KeyProblem } from './keys/key-problem.ts';
import { countersAt } from './quota/counters.ts';
import { planOf, type Entitlement } from './quota/plan-of.ts';
import { readUsage, type UsageReading } from './quota/usage-reading.ts';
import type { Store } from './stores/store.ts';

/** What a key has used of its quotas. */
export interface KeyUsage {
  readonly key: string;
  readonly plan: string;
  readonly quotas: readonly UsageReading[];
}

/** What a reset has set to zero. */
export interface UsageReset {
  readonly key: string;
  readonly quotas: readonly string[];
}

/**
 * The usage of keys, of the configuration and of the store alike, for the command line and the admin API. What there is not
 * rejects with a `KeyProblem`, a store that fails with `StoreUnavailable`.
 */
export interface UsageBook {
  read(id: string): Promise<KeyUsage>;
  /** What a reset would set to zero: one quota, or all of the key. */
  planReset(id: string, quota: string | undefined): Promise<UsageReset>;
  reset(id: string, quota: string | undefined): Promise<UsageReset>;
}

export interface UsageBookParts {
  readonly config: Pick<Config, 'keys' | 'plans'>;
  readonly store: {
    readonly keys: Pick<Store['keys'], 'readKey'>;
    readonly ledger: Pick<Store['ledger'], 'readUsage' | 'resetUsage'>;
  };
  readonly now: () => number;
}

/** A key, whether of the configuration or of the store. */
interface Holder extends Entitlement {
  readonly id: string;
}

/** Opens the book on a store. */
export function createUsageBook({ config, store, now }: UsageBookParts): UsageBook {
  async function find(id: string): Promise<Holder> {
    const key = config.keys.find((one) => one.id === id);
    if (key !== undefined) return { id, plan: key.plan, quotas: [] };
    const known = await store.keys.readKey(id);
    if (known !== undefined) return known.record;
    const ids = config.keys.map((one) => one.id);
    throw new KeyProblem('not_found', `there is no such key${suggest(id, ids)}`);
  }

  function rulesOf(key: Holder): PlanRule {
    const plan = planOf(key, config.plans);
    if (plan !== undefined) return plan;
    const message = `the configuration has no plan ${key.plan}, which key ${key.id} has`;
    throw new KeyProblem('conflict', message);
  }

  async function chooseCounters(id: string, quota: string | undefined) {
    const key = await find(id);
    const counters = countersAt(chooseQuota(rulesOf(key), quota), now());
    if (counters.length > 0) return { key: key.id, counters, quotas: counters.map(({ name }) => name) };
    throw new KeyProblem('conflict', `plan ${key.plan} of key ${key.id} has no quotas`);
  }

  return {
    async read(id) {
      const key = await find(id);
      const quotas = await readUsage(store.ledger, { keyId: key.id, plan: rulesOf(key), at: now() });
      return { key: key.id, plan: key.plan, quotas };
    },
    async planReset(id, quota) {
      const { key, quotas } = await chooseCounters(id, quota);
      return { key, quotas };
    },
    async reset(id, quota) {
      const { key, counters, quotas } = await chooseCounters(id, quota);
      await store.ledger.resetUsage(key, counters);
      return { key, quotas };
    },
  };
}

function chooseQuota(plan: PlanRule, quota: string | undefined): PlanRule {
  if (quota === undefined) return plan;
  const quotas = plan.quotas.filter(({ name }) => name === quota);
  if (quotas.length > 0) return { ...plan, quotas };
  const names = plan.quotas.map(({ name }) => name);
  throw new KeyProblem('not_found', `the key has no such quota${suggest(quota, names)}`);
}
