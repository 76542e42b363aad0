import { createInterface } from 'node:readline/promises';
import type { Config } from '../config/config.ts';
import { loadConfig } from '../config/load-config.ts';
import { exitCodes } from '../exit-codes.ts';
import { KeyProblem } from '../keys/key-problem.ts';
import type { UsageReading } from '../quota/usage-reading.ts';
import { StoreUnavailable } from '../stores/ledger.ts';
import { openStore } from '../stores/open-store.ts';
import { createUsageBook, type UsageBook } from '../usage-book.ts';
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
  return withStore(file, io, async (config, usage) => {
    const ids = key === undefined ? config.keys.map(({ id }) => id) : [key];
    const rows: Row[] = [];
    for (let from = 0; from < ids.length; from += keysAtOnce) {
      const some = await Promise.all(ids.slice(from, from + keysAtOnce).map((id) => usage.read(id)));
      rows.push(
        ...some.flatMap(({ quotas, ...holder }) => quotas.map((reading) => ({ ...holder, reading }))),
      );
    }
    io.stdout.write(json ? `${JSON.stringify(rows.map(toJson), undefined, 2)}\n` : printTable(rows));
  });
}

/** `gatehouse usage reset`: sets the usage of a key to zero, after asking. Returns the exit code. */
export async function resetUsage(
  options: { config: string; key: string; quota: string | undefined; yes: boolean },
  io: Console,
): Promise<number> {
  return withStore(options.config, io, async (_config, usage) => {
    const { key, quotas } = await usage.planReset(options.key, options.quota);
    const names = quotas.join(', ');
    if (!options.yes && !(await confirm(`Set ${names} of key ${key} to zero?`, io))) {
      throw new Unusable('nothing was changed');
    }
    await usage.reset(options.key, options.quota);
    io.stdout.write(`${names} of key ${key}: set to zero\n`);
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

interface Row {
  readonly key: string;
  readonly plan: string;
  readonly reading: UsageReading;
}

async function withStore(
  file: string,
  { env, stderr }: Console,
  work: (config: Config, usage: UsageBook) => Promise<void>,
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
      await work(config, createUsageBook({ config, store, now: Date.now }));
    } finally {
      await store.close();
    }
    return exitCodes.ok;
  } catch (error) {
    const code = exitCodeOf(error);
    if (code === undefined || !(error instanceof Error)) throw error;
    stderr.write(`gatehouse: ${error.message}\n`);
    return code;
  }
}

function exitCodeOf(error: unknown): number | undefined {
  if (error instanceof Unusable) return error.exitCode;
  if (error instanceof KeyProblem) return exitCodes.failed;
  return error instanceof StoreUnavailable ? exitCodes.store : undefined;
}

function toJson({ key, plan, reading }: Row): object {
  const { resetsAt, name, ...numbers } = reading;
  const resets = resetsAt === undefined ? null : new Date(resetsAt).toISOString();
  return { key, plan, quota: name, ...numbers, resetsAt: resets };
}

function printTable(rows: readonly Row[]): string {
  if (rows.length === 0) return 'no key has a quota\n';
  const lines = rows.map(({ key, plan, reading }) => [
    key,
    plan,
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
