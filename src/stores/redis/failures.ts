import { codeOf } from '../../content/error-code.ts';
import { isObject } from '../../content/is-object.ts';
import { StoreUnavailable, Unreadable } from '../ledger.ts';

/** Why there is no answer, and whether there may be one in a moment. */
export type Reason = Pick<StoreUnavailable, 'message' | 'isTemporary'>;

/** A call was not sent, for there was no connection. */
export class NeverSent extends Error {}

/** A connection was given up on which an answer was owed for so long. */
export class Silence extends Error {
  constructor(patienceMs: number) {
    super(`did not answer within ${patienceMs} ms`);
  }
}

/** What a failure of Redis means for us. */
interface Failure {
  readonly error: StoreUnavailable;
  /** True when others would fail too: it is Redis that is ill, not this one key. */
  readonly general: boolean;
  /** True when Redis itself has refused: it is there, and takes no time for it. */
  readonly answered: boolean;
}

/**
 * The answers by which Redis refuses, in our words. Scripts check every type before they write, so after any of these
 * nothing has changed. Redis 6.2 wraps what fails inside a script in an ERR, so the words are looked for anywhere.
 */
const refusals: readonly {
  code: string;
  means: string;
  /** It is about this call: others would not fail too. */
  general?: false;
  unreadable?: true;
  isTemporary?: true;
}[] = [
  { code: 'NOSCRIPT', means: 'does not know a script', general: false },
  {
    code: 'WRONGTYPE',
    means: 'holds something of another program under one of our names',
    general: false,
    unreadable: true,
  },
  // Our own scripts say it.
  { code: 'WRONGVALUE', means: 'holds a counter that is no number', general: false, unreadable: true },
  { code: 'CROSSSLOT', means: 'wants the keys of one call in one slot', general: false },
  { code: 'OOM', means: 'has no memory left (maxmemory)' },
  { code: 'READONLY', means: 'is a read-only replica' },
  { code: 'BUSY', means: 'is busy with a script', isTemporary: true },
  { code: 'LOADING', means: 'is loading its data', isTemporary: true },
  { code: 'MASTERDOWN', means: 'has lost its master', isTemporary: true },
  { code: 'CLUSTERDOWN', means: 'says that the cluster is down', isTemporary: true },
  { code: 'TRYAGAIN', means: 'is moving the slot', general: false, isTemporary: true },
  { code: 'MOVED', means: 'serves this slot elsewhere (a cluster is written redis+cluster://)' },
  { code: 'cluster support disabled', means: 'is no cluster (a single Redis is written redis://)' },
  // Redis 6.2 puts the name in other quotes than 7.
  { code: 'unknown command .sentinel', means: 'is no sentinel (a single Redis is written redis://)' },
  {
    code: 'unknown command',
    means:
      'does not know a command that is needed (it is older than 6.2, or a sentinel: that is written redis+sentinel://)',
  },
  { code: 'ASK', means: 'is moving the slot', general: false, isTemporary: true },
  { code: 'MISCONF', means: 'cannot write its snapshots to disk' },
  { code: 'NOREPLICAS', means: 'has too few replicas to accept writes' },
  { code: 'NOAUTH', means: 'wants a password' },
  { code: 'WRONGPASS', means: 'does not accept the user or password' },
  { code: 'NOPERM', means: 'does not permit our user what it needs' },
  { code: 'max number of clients', means: 'has as many clients as it takes (maxclients)', isTemporary: true },
  { code: 'DB index is out of range', means: 'has no database of this number' },
];

/**
 * What an ACL denies to us or to a script of ours, in the words of Redis 6.2, of 7.0 and of later ones. Keys are asked for
 * before a script runs, and a script publishes before it writes: only a command can be denied in its middle.
 */
const denials: readonly { says: RegExp; what: string; general: boolean; midway: boolean }[] = [
  {
    says: /permissions to run|can't run this command/,
    what: 'a command that it needs',
    general: true,
    midway: true,
  },
  {
    says: /permissions to access .*\bkey|can't access at least one of the keys/,
    what: 'the names that it needs',
    general: true,
    midway: false,
  },
  {
    says: /permissions to access .*\bchannel|can't publish to the channel/,
    what: 'the channel that tells of changed keys',
    general: false,
    midway: false,
  },
];

/** A cluster answered each time that the slot is at, or on its way to, another node. */
const sentOnTooOften = /^Too many Cluster redirections\. Last error: ReplyError: (?:MOVED|ASK|TRYAGAIN)\b/;

/** Of a sentinel that is not there, says nothing or has a certificate that is not trusted ioredis does not tell which. */
const silentSentinel = { means: 'cannot be reached', isTemporary: true };

/** What ioredis says of a server that is not there, without a code of its own. */
export const connectionClosed = 'Connection is closed.';

/** Errors of sockets that can only arise before anything was sent. */
const neverSent = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

/** Those that a server on its way back has: it, or its name, is not there yet, or something in between closes for it. */
const passing = new Set([...neverSent, 'ECONNRESET', 'EPIPE', 'ETIMEDOUT']);

/**
 * Describes what ioredis throws. Nothing of the original error goes on: it carries the command with its arguments, and
 * the text of a script or a URL may be in its message. `whyAway` is said for what tells nothing of the reason.
 */
export function describeFailure(thrown: unknown, whyAway: Reason): Failure {
  const { name, message, code } = read(thrown);
  if (name === 'ReplyError') return { ...describeRefusal(message), answered: true };
  if (wasNotSent(thrown)) {
    const { message: why, isTemporary } = whyAway;
    return fail(`is not connected: ${why}`, { mayHaveHappened: false, general: true, isTemporary });
  }
  if (wasCutOff(thrown)) {
    const { message: why, isTemporary } = whyAway;
    const error = new StoreUnavailable(why, { mayHaveHappened: true, isTemporary });
    return { error, general: true, answered: false };
  }
  const root = rootOf(thrown);
  if (root instanceof Silence) {
    return fail(root.message, { mayHaveHappened: true, general: true, isTemporary: true });
  }
  if (sentOnTooOften.test(message)) {
    const failure = fail('is moving the slot', { mayHaveHappened: false, general: false, isTemporary: true });
    return { ...failure, answered: true };
  }
  if (/No such master with that name/.test(message)) {
    return fail('has no master of this name, say its sentinels', { mayHaveHappened: false, general: true });
  }
  if (message.startsWith('All sentinels are unreachable')) {
    const { means, isTemporary } =
      findRefusal(/ Last error: (.*)/s.exec(message)?.[1] ?? '') ?? silentSentinel;
    const what = `cannot be found: the last sentinel that was asked ${means}`;
    return fail(what, { mayHaveHappened: false, general: true, isTemporary });
  }
  const socket = /^[A-Z][A-Z0-9_]{2,40}$/.test(code) ? ` (${code})` : '';
  return fail(`closed the connection or cannot be reached${socket}`, {
    mayHaveHappened: !neverSent.has(code),
    general: true,
    isTemporary: passing.has(code) || message === connectionClosed,
  });
}

/** An answer that none of our scripts gives: whatever speaks there is not the Redis that was asked. */
export function notUnderstood(): StoreUnavailable {
  return new StoreUnavailable('Redis answered with something that is not known', { mayHaveHappened: true });
}

function describeRefusal(message: string): Failure {
  const denial = findDenial(message);
  if (denial !== undefined) return denial;
  const refusal = findRefusal(message);
  if (refusal === undefined) {
    return fail('answered with an error that is not known', { mayHaveHappened: true, general: false });
  }
  const { means, general = true, isTemporary } = refusal;
  const failure = fail(means, { mayHaveHappened: false, general, isTemporary });
  return refusal.unreadable === true ? { ...failure, error: new Unreadable(`Redis ${means}`) } : failure;
}

/** True for the answer of a server that knows scripts only in full, as after a restart: nothing has been done. */
export function lacksScript(thrown: unknown): boolean {
  return findRefusal(read(thrown).message)?.code === 'NOSCRIPT';
}

/** True for the answer of what looks like one server and is a cluster: nothing has been done. */
export function wantsOneSlot(thrown: unknown): boolean {
  return findRefusal(read(thrown).message)?.code === 'CROSSSLOT';
}

/** True for the answer of a server that has been made a replica: the connection leads to the wrong one. */
export function isReadOnly(thrown: unknown): boolean {
  return findRefusal(read(thrown).message)?.code === 'READONLY';
}

/** True for what ioredis says of a connection that it does not have, or has no more: it tells nothing of the reason. */
export function tellsNoReason(thrown: unknown): boolean {
  return wasNotSent(thrown) || wasCutOff(thrown);
}

/** True for what ioredis says when its patience with a server ends while it connects, and with the first node of a cluster. */
export function saysThatNothingCame(thrown: unknown): boolean {
  const { message } = read(thrown);
  return message === 'connect ETIMEDOUT' || message === 'timeout';
}

function wasNotSent(thrown: unknown): boolean {
  return thrown instanceof NeverSent || read(thrown).message.includes('enableOfflineQueue');
}

function wasCutOff(thrown: unknown): boolean {
  return read(thrown).name === 'MaxRetriesPerRequestError';
}

/** The command that Redis refused. */
export function commandOf(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error && 'command' in thrown)) return undefined;
  const { command } = thrown;
  if (!isObject(command)) return undefined;
  return typeof command['name'] === 'string' ? command['name'] : undefined;
}

function findRefusal(message: string): (typeof refusals)[number] | undefined {
  return refusals.find(({ code }) => new RegExp(`(?:^|[\\s-])${code}\\b`).test(message));
}

function findDenial(message: string): Failure | undefined {
  const denial = denials.find(({ says }) => says.test(message));
  if (denial === undefined) return undefined;
  const command = /permissions to run the '([a-z|]+)'/.exec(message)?.[1];
  const what = command === undefined ? denial.what : `the command ${command}`;
  const inScript = !message.startsWith('NOPERM');
  return fail(`does not permit our user ${what}`, {
    mayHaveHappened: inScript && denial.midway,
    general: denial.general,
  });
}

function fail(
  what: string,
  { general, ...doubts }: { mayHaveHappened: boolean; general: boolean; isTemporary?: boolean | undefined },
): Failure {
  return { error: new StoreUnavailable(`Redis ${what}`, doubts), general, answered: false };
}

/** A cluster that cannot be reached says so, and hides in a field why. */
function rootOf(thrown: unknown): unknown {
  return thrown instanceof Error && 'lastNodeError' in thrown ? rootOf(thrown.lastNodeError) : thrown;
}

function read(thrown: unknown): { name: string; message: string; code: string } {
  const root = rootOf(thrown);
  if (!(root instanceof Error)) return { name: '', message: '', code: '' };
  return { name: root.name, message: root.message, code: codeOf(root) ?? '' };
}
