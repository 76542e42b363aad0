import { slicesOf } from '../collections/slices.ts';
import type { Config } from '../config/config.ts';
import { writeInstant } from '../config/instants.ts';
import type { PlanRule } from '../config/plan-rule.ts';
import { suggest, suggestNear } from '../config/wording.ts';
import type { By } from '../keys/change-key.ts';
import { holdsSecret } from '../keys/key-format.ts';
import { isKeyId } from '../keys/key-id.ts';
import { badCursor, type Page } from '../keys/key-pages.ts';
import { KeyProblem } from '../keys/key-problem.ts';
import type { KeyRecord, KnownKey, Listed } from '../stores/key-store.ts';
import type { Counter } from '../stores/ledger.ts';
import { ifReadable } from '../stores/store-unavailable.ts';
import type { Store } from '../stores/store.ts';
import { countersAt, countersBefore } from './counters.ts';
import { planOf } from './plan-of.ts';
import { readingsOf, readUsage, type UsageReading } from './usage-reading.ts';

/** What a key has used of its quotas, ready to be written as JSON. */
export interface KeyUsage {
  readonly key: string;
  readonly plan: string;
  /** Who may have to pay; '' for nobody. */
  readonly owner: string;
  readonly quotas: readonly QuotaUsage[];
}

type QuotaUsage = Omit<UsageReading, 'resetsAt'> & {
  /** In ISO 8601; null for a lifetime. */
  readonly resetsAt: string | null;
};

/** Of which periods. */
export interface UsagePeriods {
  /** Of those before the current ones, as far as they are kept. Default false. */
  readonly ended?: boolean | undefined;
}

/** Which keys to list: those after the cursor, which is the id of the last one before. */
interface UsageQuery extends UsagePeriods {
  readonly cursor: string | undefined;
  readonly limit: number;
}

/** Quotas of a key, in the periods that ran when they were chosen. */
export interface ChosenQuotas extends Pick<KeyUsage, 'key' | 'plan' | 'owner'> {
  readonly counters: readonly Counter[];
}

/**
 * The usage of keys, of the configuration and of the store alike, for the command line and the admin API. Rejects with a
 * `KeyProblem` for what does not exist, and with `StoreUnavailable` when the store fails.
 */
export interface UsageBook {
  read(id: string, periods?: UsagePeriods): Promise<KeyUsage>;
  /**
   * Keys of the configuration in its order, then those of the store in the order of their ids. Revoked ones are left out, but not
   * of periods that have ended: their owners may still have to pay.
   */
  list(page: UsageQuery): Promise<Page<KeyUsage>>;
  /** Chooses one quota of the key, or all, to set what was spent of them. */
  choose(id: string, quota: string | undefined): Promise<ChosenQuotas>;
  /**
   * Sets what was spent of the chosen quotas, unless their periods have ended meanwhile. Set again it adds nothing. What processes
   * hold is counted on top, and so is what is charged later, although it may have been spent before.
   */
  set(chosen: ChosenQuotas, spent: number, by: By): Promise<KeyUsage>;
}

interface UsageBookParts {
  readonly config: Pick<Config, 'keys' | 'plans'>;
  readonly store: {
    readonly keys: Pick<Store['keys'], 'listKeys' | 'readKey' | 'addAudit'>;
    readonly ledger: Pick<Store['ledger'], 'readTime' | 'readUsage' | 'setUsage'>;
  };
}

/** A key, of the configuration or of the store. */
type EntitledKey = Pick<KeyRecord, 'id' | 'plan' | 'owner' | 'quotas'>;

interface StoredPage {
  readonly keys: readonly Listed<KnownKey>[];
  readonly next: string | null;
}

/** Opens the book on a store. */
export function createUsageBook({ config, store }: UsageBookParts): UsageBook {
  const inFile = new Set(config.keys.map(({ id }) => id));

  async function find(id: string): Promise<EntitledKey> {
    const key = config.keys.find((one) => one.id === id);
    if (key !== undefined) return entitledKeyOf(key);
    const known = holdsSecret(id) ? undefined : await store.keys.readKey(id);
    if (known !== undefined) return known.record;
    const ids = config.keys.map((one) => one.id);
    throw new KeyProblem('not_found', `there is no such key${suggestNear(id, ids)}`);
  }

  function rulesOf(key: EntitledKey): PlanRule {
    const plan = planOf(key, config.plans);
    if (plan !== undefined) return plan;
    const message = `the configuration has no plan ${key.plan}, which key ${key.id} has`;
    throw new KeyProblem('conflict', message);
  }

  /**
   * In a cluster the log and the counters are on different nodes, so they are not one step. The log comes first: it may tell of
   * something that was not done after all, but nothing is done that it does not tell.
   */
  async function noteSetting({ key, counters }: ChosenQuotas, spent: number, { actor }: By): Promise<void> {
    // What cannot be read can be set all the same.
    const before = await ifReadable(readUsage(store.ledger, key, counters));
    const changes = counters.map(({ name }, index) => [name, [spentOf(before?.[index]), spent]] as const);
    const note = { actor, action: 'set_usage', keyId: key, changes: Object.fromEntries(changes) };
    await store.keys.addAudit(note);
  }

  async function usageOf(key: EntitledKey, plan: PlanRule, { ended }: UsagePeriods): Promise<KeyUsage> {
    const at = await store.ledger.readTime(key.id);
    const counters = ended === true ? countersBefore(plan, at) : countersAt(plan, at);
    const readings = await readUsage(store.ledger, key.id, counters);
    return { key: key.id, plan: key.plan, owner: key.owner, quotas: readings.map(quotaUsageOf) };
  }

  /** A key whose plan is gone has no quotas. */
  async function usageIn(
    { id, found: key }: Listed<EntitledKey>,
    periods: UsagePeriods,
  ): Promise<Listed<KeyUsage>> {
    if (key === undefined) return { id, found: undefined };
    const plan = planOf(key, config.plans);
    if (plan === undefined) return { id, found: { key: id, plan: key.plan, owner: key.owner, quotas: [] } };
    return { id, found: await ifReadable(usageOf(key, plan, periods)) };
  }

  async function readIn(
    list: readonly Listed<EntitledKey>[],
    periods: UsagePeriods,
  ): Promise<Omit<Page<KeyUsage>, 'next'>> {
    const items: KeyUsage[] = [];
    const unreadable: string[] = [];
    for (const some of slicesOf(list, keysAtOnce)) {
      for (const { id, found } of await Promise.all(some.map((key) => usageIn(key, periods)))) {
        if (found === undefined) unreadable.push(id);
        else items.push(found);
      }
    }
    return { items, unreadable };
  }

  /**
   * The store's keys, except those also in the file: usage is counted by id, so it is told with the file's keys, and as a cursor
   * such an id means the place there.
   */
  async function listStored(after: string, limit: number): Promise<StoredPage> {
    let last = after;
    for (;;) {
      const keys = await store.keys.listKeys(last, limit);
      const others = keys.filter(({ id }) => !inFile.has(id));
      const next = others.at(-1)?.id;
      if (keys.length < limit) return { keys: others, next: null };
      if (next !== undefined) return { keys: others, next };
      last = keys.at(-1)?.id ?? last;
    }
  }

  return {
    async read(id, periods = {}) {
      const key = await find(id);
      return await usageOf(key, rulesOf(key), periods);
    },
    async list({ cursor, limit, ...periods }) {
      const startsInFile = cursor === undefined || inFile.has(cursor);
      if (!startsInFile && !isKeyId(cursor)) throw badCursor();
      const at = config.keys.findIndex((key) => key.id === cursor);
      const own = startsInFile ? config.keys.slice(at + 1, at + 1 + limit).map(listedOf) : [];
      if (own.length === limit) return { ...(await readIn(own, periods)), next: own.at(-1)?.id ?? null };
      const { keys, next } = await listStored(startsInFile ? '' : cursor, limit - own.length);
      const stored = keys
        .map(({ id, found }) => ({ id, found: found?.record }))
        .filter(({ found }) => periods.ended === true || found?.revokedAt === undefined);
      return { ...(await readIn([...own, ...stored], periods)), next };
    },
    async choose(id, quota) {
      const key = await find(id);
      const plan = chooseQuota(rulesOf(key), quota);
      const counters = countersAt(plan, await store.ledger.readTime(key.id));
      if (counters.length > 0) return { key: key.id, plan: key.plan, owner: key.owner, counters };
      throw new KeyProblem('conflict', `plan ${key.plan} of key ${key.id} has no quotas`);
    },
    async set(chosen, spent, by) {
      const { counters, ...whose } = chosen;
      await noteSetting(chosen, spent, by);
      const usage = await store.ledger.setUsage({ keyId: whose.key, counters, spent });
      if (usage === 'not_current') {
        throw new KeyProblem('conflict', 'a period has ended meanwhile, and nothing was set: ask again');
      }
      return { ...whose, quotas: readingsOf(counters, usage).map(quotaUsageOf) };
    },
  };
}

/** `null` where that is not known. */
function spentOf(reading: UsageReading | undefined): number | null {
  return reading === undefined ? null : reading.used - reading.leased;
}

const keysAtOnce = 32;

/** A key of the configuration has only the quotas of its plan. */
function entitledKeyOf({ id, plan, owner }: Config['keys'][number]): EntitledKey {
  return { id, plan, owner, quotas: [] };
}

function listedOf(key: Config['keys'][number]): Listed<EntitledKey> {
  return { id: key.id, found: entitledKeyOf(key) };
}

function quotaUsageOf(reading: UsageReading): QuotaUsage {
  return { ...reading, resetsAt: writeInstant(reading.resetsAt) };
}

function chooseQuota(plan: PlanRule, quota: string | undefined): PlanRule {
  if (quota === undefined) return plan;
  const quotas = plan.quotas.filter(({ name }) => name === quota);
  if (quotas.length > 0) return { ...plan, quotas };
  const names = plan.quotas.map(({ name }) => name);
  throw new KeyProblem('not_found', `the key has no such quota${suggest(quota, names)}`);
}
