import { codeOf } from '../../content/error-code.ts';
import { StoreUnavailable, Unreadable } from '../store-unavailable.ts';

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

/** What was asked where its slots are answered with something else. */
export class NoSlots extends Error {}

/** What a failure of Redis means for us. */
interface Failure {
  readonly error: StoreUnavailable;
  /** True when others would fail too: it is Redis that is ill, not this one key. */
  readonly general: boolean;
  /** True when Redis itself has refused: it is there, and takes no time for it. */
  readonly answered: boolean;
}

/**
 * The answers by which Redis refuses, in our words. Scripts check every type before they write, so after any of these nothing has
 * changed, unless one is `midway`. Redis 6.2 wraps what fails inside a script in an ERR, so the words are looked for anywhere.
 */
const refusals: readonly {
  code: string;
  means: string;
  /** It is about this call: others would not fail too. */
  general?: false;
  /** So is this, about data that cannot be read: it is another program's, or spoilt. */
  unreadable?: true;
  isTemporary?: true;
  /**
   * A script may have written before it, as only a command can be denied in its middle: keys are asked for before a script runs,
   * and it publishes before it writes.
   */
  midway?: true;
}[] = [
  // What an ACL denies, in the words of Redis 6.2, of 7.0 and of later ones.
  {
    code: 'permissions to run|can.t run this command',
    means: 'does not permit our user a command that it needs',
    midway: true,
  },
  {
    code: 'permissions to access .*\\bkeys?|can.t access at least one of the keys',
    means: 'does not permit our user the names that it needs',
  },
  {
    code: 'permissions to access .*\\bchannels?|can.t publish to the channel',
    means: 'does not permit our user the channel that tells of changed keys',
    general: false,
  },
  { code: 'NOSCRIPT', means: 'does not know a script', general: false },
  {
    code: 'WRONGTYPE',
    means: 'holds something of another program under one of our names',
    unreadable: true,
  },
  // Our own scripts say it.
  { code: 'WRONGVALUE', means: 'holds a counter that is no number', unreadable: true },
  { code: 'CROSSSLOT', means: 'wants the keys of one call in one slot', general: false },
  { code: 'OOM', means: 'has no memory left (maxmemory)' },
  { code: 'READONLY', means: 'is a read-only replica' },
  { code: 'BUSY', means: 'is busy with a script', isTemporary: true },
  { code: 'LOADING', means: 'is loading its data', isTemporary: true },
  { code: 'MASTERDOWN', means: 'has lost its master', isTemporary: true },
  { code: 'CLUSTERDOWN', means: 'says that the cluster is down', isTemporary: true },
  { code: 'TRYAGAIN', means: 'is moving the slot', general: false, isTemporary: true },
  { code: 'MOVED', means: 'serves this slot elsewhere (a cluster is written redis+cluster://)' },
  {
    code: 'SELECT is not allowed in cluster mode',
    means: 'is a cluster and has no database but 0 (a cluster is written redis+cluster://)',
  },
  { code: 'cluster support disabled', means: 'is no cluster (a single Redis is written redis://)' },
  // Redis 6.2 puts the name in other quotes than 7.
  { code: 'unknown command .sentinel', means: 'is no sentinel (a single Redis is written redis://)' },
  {
    code: 'unknown command',
    means:
      'does not know a command that is needed (it is older than 6.2, or a sentinel: that is written redis+sentinel://)',
  },
  { code: 'ASK', means: 'is moving the slot', general: false, isTemporary: true },
  { code: 'MISCONF Errors writing to the AOF file', means: 'cannot write its append-only file to disk' },
  { code: 'MISCONF', means: 'cannot write its snapshots to disk' },
  { code: 'NOREPLICAS', means: 'has too few replicas to accept writes' },
  { code: 'NOAUTH', means: 'wants a password' },
  { code: 'DENIED', means: 'is in protected mode, in which it serves no other machine' },
  { code: 'WRONGPASS', means: 'does not accept the user or password' },
  { code: 'NOPERM', means: 'does not permit our user what it needs' },
  { code: 'max number of clients', means: 'has as many clients as it takes (maxclients)', isTemporary: true },
  { code: 'DB index is out of range', means: 'has no database of this number' },
];

/** A cluster answered each time that the slot is at, or on its way to, another node. */
const sentOnTooOften = /^Too many Cluster redirections\. Last error: ReplyError: (?:MOVED|ASK|TRYAGAIN)\b/;

/** Of a sentinel that is not there, says nothing or has a certificate that is not trusted ioredis does not tell which. */
const silentSentinel = { means: 'cannot be reached', isTemporary: true };

/** What ioredis says of bytes that no Redis sends. */
const otherProtocol = /^Unknown RESP type\b/;

/** What ioredis says of a server that is not there, without a code of its own. */
export const connectionClosed = 'Connection is closed.';

/** Errors of sockets that can only arise before anything was sent. */
const neverSent = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

/** Those that a server on its way back has: it, or its name, is not there yet, or something in between closes for it. */
const passing = new Set([...neverSent, 'ECONNRESET', 'EPIPE', 'ETIMEDOUT']);

/**
 * Judges what ioredis throws. Nothing of the original error goes on: it carries the command with its arguments, and
 * the text of a script or a URL may be in its message. `whyAway` is said for what tells nothing of the reason.
 */
export function judgeFailure(thrown: unknown, { message: whyAway, isTemporary }: Reason): Failure {
  const { name, message, code } = read(thrown);
  if (name === 'ReplyError') return describeRefusal(message);
  if (wasNotSent(thrown)) return fail(`is not connected: ${whyAway}`, { isTemporary });
  if (wasCutOff(thrown)) {
    const error = new StoreUnavailable(whyAway, { mayHaveHappened: true, isTemporary });
    return { error, general: true, answered: false };
  }
  const root = rootOf(thrown);
  if (root instanceof Silence) return fail(root.message, { mayHaveHappened: true, isTemporary: true });
  if (root instanceof NoSlots) return fail('does not say where the slots of its cluster are', {});
  if (sentOnTooOften.test(message)) {
    return fail('is moving the slot', { general: false, answered: true, isTemporary: true });
  }
  if (otherProtocol.test(message)) return fail('answers in another protocol', { mayHaveHappened: true });
  if (message.includes('No such master with that name')) {
    return fail('has no master of this name, say its sentinels', {});
  }
  if (message.startsWith('All sentinels are unreachable')) {
    const refusal = findRefusal(/ Last error: (.*)/s.exec(message)?.[1] ?? '') ?? silentSentinel;
    const what = `cannot be found: the last sentinel that was asked ${refusal.means}`;
    return fail(what, { isTemporary: refusal.isTemporary });
  }
  const socket = /^[A-Z][A-Z0-9_/]{2,60}$/.test(code) ? ` (${code})` : '';
  return fail(`closed the connection or cannot be reached${socket}`, {
    mayHaveHappened: !neverSent.has(code),
    isTemporary: passing.has(code) || message === connectionClosed,
  });
}

/** An answer that none of our scripts gives: whatever speaks there is not the Redis that was asked. */
export function notUnderstood(): StoreUnavailable {
  return new StoreUnavailable('Redis answered with something that is not known', { mayHaveHappened: true });
}

function describeRefusal(message: string): Failure {
  const refusal = findRefusal(message);
  if (refusal === undefined) {
    const doubts = { mayHaveHappened: true, general: false, answered: true };
    return fail('answered with an error that is not known', doubts);
  }
  const { means, general, isTemporary, midway, unreadable } = refusal;
  if (unreadable) return { error: new Unreadable(`Redis ${means}`), general: false, answered: true };
  const command = /permissions to run the '([a-z|]+)'/.exec(message)?.[1];
  return fail(command === undefined ? means : `does not permit our user the command ${command}`, {
    mayHaveHappened: midway && !message.startsWith('NOPERM'),
    general,
    answered: true,
    isTemporary,
  });
}

/**
 * True for the answer of a server that knows scripts only in full, as after a restart (NOSCRIPT), that looks like one and is a
 * cluster (CROSSSLOT), or that has been made a replica (READONLY). Nothing has been done.
 */
export function isRefusal(thrown: unknown, code: 'NOSCRIPT' | 'CROSSSLOT' | 'READONLY'): boolean {
  return findRefusal(read(thrown).message)?.code === code;
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

function findRefusal(message: string): (typeof refusals)[number] | undefined {
  return refusals.find(({ code }) => new RegExp(`(?:^|[\\s-])(?:${code})\\b`).test(message));
}

interface Doubts {
  readonly mayHaveHappened?: boolean | undefined;
  readonly general?: boolean | undefined;
  readonly answered?: boolean;
  readonly isTemporary?: boolean | undefined;
}

function fail(
  what: string,
  { mayHaveHappened = false, general = true, answered = false, isTemporary }: Doubts,
): Failure {
  const error = new StoreUnavailable(`Redis ${what}`, { mayHaveHappened, isTemporary });
  return { error, general, answered };
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
