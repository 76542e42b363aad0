import { createInterface } from 'node:readline/promises';
import type { Config } from '../config/config.ts';
import { loadConfig } from '../config/load-config.ts';
import type { PlanRule } from '../config/plan-rule.ts';
import { suggest } from '../config/wording.ts';
import { exitCodes } from '../exit-codes.ts';
import { countersAt } from '../quota/counters.ts';
import { planOf, type Entitlement } from '../quota/plan-of.ts';
import { readUsage, type UsageReading } from '../quota/usage-reading.ts';
import { StoreUnavailable, type Ledger } from '../stores/ledger.ts';
import { openStore } from '../stores/open-store.ts';
import type { Store } from '../stores/store.ts';
import { columns } from './columns.ts';
import { explainConfig } from './lifecycle.ts';

/** Where a command reads and writes, so that it can be tried without a terminal. */
export interface Console {
  readonly env: NodeJS.ProcessEnv;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}

/** A person can wait longer than a request. */
const deadlineMs = 5000;
const keysAtOnce = 32;

/** `gatehouse usage show`: what keys have used, as a table or as JSON. Returns the exit code. */
export async function showUsage(
  { config: file, key, json }: { config: string; key: string | undefined; json: boolean },
  io: Console,
): Promise<number> {
  return withStore(file, io, async (config, { keys: stored, ledger }) => {
    const keys = key === undefined ? config.keys.map(holderOf) : [await findKey(config, stored, key)];
    const rows: Row[] = [];
    for (let from = 0; from < keys.length; from += keysAtOnce) {
      const some = keys.slice(from, from + keysAtOnce);
      rows.push(...(await Promise.all(some.map((one) => readKey(config, one, ledger)))).flat());
    }
    io.stdout.write(json ? `${JSON.stringify(rows.map(toJson), undefined, 2)}\n` : printTable(rows));
  });
}

/** `gatehouse usage reset`: sets the usage of a key to zero, after asking. Returns the exit code. */
export async function resetUsage(
  options: { config: string; key: string; quota: string | undefined; yes: boolean },
  io: Console,
): Promise<number> {
  return withStore(options.config, io, async (config, { keys, ledger }) => {
    const key = await findKey(config, keys, options.key);
    const counters = countersAt(choosePlan(rulesOf(config, key), options.quota), Date.now());
    const names = counters.map(({ name }) => name).join(', ');
    if (counters.length === 0) throw new Unusable(`plan ${key.plan} of key ${key.id} has no quotas`);
    if (!options.yes && !(await confirm(`Set ${names} of key ${key.id} to zero?`, io))) {
      throw new Unusable('nothing was changed');
    }
    await ledger.resetUsage(key.id, counters);
    io.stdout.write(`${names} of key ${key.id}: set to zero\n`);
  });
}

/** What cannot be done as it was asked for, in one sentence. */
class Unusable extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number = exitCodes.failed) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** A key, whether of the configuration or of the store. */
interface Holder extends Entitlement {
  readonly id: string;
}

interface Row {
  readonly key: Holder;
  readonly reading: UsageReading;
}

async function withStore(
  file: string,
  { env, stderr }: Console,
  work: (config: Config, store: Store) => Promise<void>,
): Promise<number> {
  let config: Config;
  try {
    config = loadConfig(file, env);
  } catch (error) {
    return explainConfig(error);
  }
  try {
    const store = await openStore(config.store, { deadlineMs });
    try {
      await work(config, store);
    } finally {
      await store.close();
    }
    return exitCodes.ok;
  } catch (error) {
    if (!(error instanceof Unusable) && !(error instanceof StoreUnavailable)) throw error;
    stderr.write(`gatehouse: ${error.message}\n`);
    return error instanceof Unusable ? error.exitCode : exitCodes.store;
  }
}

async function findKey({ keys }: Config, stored: Store['keys'], id: string): Promise<Holder> {
  const key = keys.find((one) => one.id === id);
  if (key !== undefined) return holderOf(key);
  const known = await stored.readKey(id);
  if (known !== undefined) return known.record;
  const ids = keys.map((one) => one.id);
  throw new Unusable(`there is no key ${JSON.stringify(id)}${suggest(id, ids)}`);
}

function holderOf({ id, plan }: { readonly id: string; readonly plan: string }): Holder {
  return { id, plan, quotas: [] };
}

function rulesOf({ plans }: Config, key: Holder): PlanRule {
  const plan = planOf(key, plans);
  if (plan === undefined)
    throw new Unusable(`the configuration has no plan ${key.plan}, which key ${key.id} has`);
  return plan;
}

function choosePlan(plan: PlanRule, quota: string | undefined): PlanRule {
  if (quota === undefined) return plan;
  const quotas = plan.quotas.filter(({ name }) => name === quota);
  const names = plan.quotas.map(({ name }) => name);
  if (quotas.length === 0)
    throw new Unusable(`the key has no quota ${JSON.stringify(quota)}${suggest(quota, names)}`);
  return { ...plan, quotas };
}

async function readKey(config: Config, key: Holder, ledger: Ledger): Promise<Row[]> {
  const question = { keyId: key.id, plan: rulesOf(config, key), at: Date.now() };
  return (await readUsage(ledger, question)).map((reading) => ({ key, reading }));
}

function toJson({ key, reading }: Row): object {
  const { resetsAt, name, ...numbers } = reading;
  const resets = resetsAt === undefined ? null : new Date(resetsAt).toISOString();
  return { key: key.id, plan: key.plan, quota: name, ...numbers, resetsAt: resets };
}

function printTable(rows: readonly Row[]): string {
  if (rows.length === 0) return 'no key has a quota\n';
  const lines = rows.map(({ key, reading }) => [
    key.id,
    key.plan,
    reading.name,
    ...[reading.limit, reading.used, reading.leased, reading.remaining].map(String),
    reading.resetsAt === undefined ? 'never' : new Date(reading.resetsAt).toISOString().replace('.000', ''),
  ]);
  const head = ['KEY', 'PLAN', 'QUOTA', 'LIMIT', 'USED', 'LEASED', 'REMAINING', 'RESETS'];
  return `${columns([head, ...lines]).join('\n')}\n`;
}

async function confirm(question: string, { stdin, stdout }: Console): Promise<boolean> {
  if (!stdin.isTTY)
    throw new Unusable('there is no terminal to ask on, add --yes to do it anyway', exitCodes.usage);
  const asking = createInterface({ input: stdin, output: stdout });
  try {
    return /^y(?:es)?$/i.test((await asking.question(`${question} [y/N] `)).trim());
  } finally {
    asking.close();
  }
}
