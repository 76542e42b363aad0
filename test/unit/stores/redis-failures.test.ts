import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  isRefusal,
  judgeFailure,
  NeverSent,
  Silence,
  tellsNoReason,
} from '../../../src/stores/redis/failures.ts';
import { Unreadable } from '../../../src/stores/store-unavailable.ts';
import { replyError } from '../../helpers/reply-error.ts';

const whyAway = { message: 'Redis has gone', isTemporary: true };

/** What follows from a failure, as one line. */
function told(thrown: unknown, why = whyAway): string {
  const { error, general, answered } = judgeFailure(thrown, why);
  const facts = {
    'may have happened': error.mayHaveHappened,
    general,
    answered,
    'may pass': error.isTemporary,
    unreadable: error instanceof Unreadable,
  };
  const so = Object.entries(facts).flatMap(([fact, is]) => (is ? [fact] : []));
  return [error.message, ...so].join(', ');
}

function socketError(code: string): Error {
  return Object.assign(new Error(`connect ${code} 10.0.0.1:6379`), { code });
}

const refusals: readonly (readonly [answer: string, told: string])[] = [
  ['NOSCRIPT No matching script.', 'Redis does not know a script, answered'],
  [
    'WRONGTYPE Operation against a key',
    'Redis holds something of another program under one of our names, answered, unreadable',
  ],
  [
    'ERR Error running script (call to f_abc): @user_script:9: WRONGVALUE',
    'Redis holds a counter that is no number, answered, unreadable',
  ],
  ['CROSSSLOT Keys in request', 'Redis wants the keys of one call in one slot, answered'],
  ['OOM command not allowed', 'Redis has no memory left (maxmemory), general, answered'],
  ['READONLY You can not write', 'Redis is a read-only replica, general, answered'],
  ['-READONLY You can not write', 'Redis is a read-only replica, general, answered'],
  ['BUSY Redis is busy', 'Redis is busy with a script, general, answered, may pass'],
  ['LOADING Redis is loading', 'Redis is loading its data, general, answered, may pass'],
  ['MASTERDOWN Link with MASTER', 'Redis has lost its master, general, answered, may pass'],
  ['CLUSTERDOWN Hash slot', 'Redis says that the cluster is down, general, answered, may pass'],
  ['TRYAGAIN Multiple keys', 'Redis is moving the slot, answered, may pass'],
  ['ASK 7 10.0.0.1:1', 'Redis is moving the slot, answered, may pass'],
  [
    'MOVED 7 10.0.0.1:1',
    'Redis serves this slot elsewhere (a cluster is written redis+cluster://), general, answered',
  ],
  [
    'ERR SELECT is not allowed in cluster mode',
    'Redis is a cluster and has no database but 0 (a cluster is written redis+cluster://), general, answered',
  ],
  ['MISCONF Redis is configured', 'Redis cannot write its snapshots to disk, general, answered'],
  [
    'MISCONF Errors writing to the AOF file: No space left on device',
    'Redis cannot write its append-only file to disk, general, answered',
  ],
  ['NOREPLICAS Not enough', 'Redis has too few replicas to accept writes, general, answered'],
  ['NOAUTH Authentication required.', 'Redis wants a password, general, answered'],
  [
    'DENIED Redis is running in protected mode because protected mode is enabled and no password is set for the default user.',
    'Redis is in protected mode, in which it serves no other machine, general, answered',
  ],
  ['WRONGPASS invalid', 'Redis does not accept the user or password, general, answered'],
  [
    'ERR max number of clients reached',
    'Redis has as many clients as it takes (maxclients), general, answered, may pass',
  ],
  [
    'ERR This instance has cluster support disabled',
    'Redis is no cluster (a single Redis is written redis://), general, answered',
  ],
  ...['ERR unknown command `sentinel`, with args', "ERR unknown command 'sentinel', with args"].map(
    (answer) =>
      [answer, 'Redis is no sentinel (a single Redis is written redis://), general, answered'] as const,
  ),
  [
    "ERR unknown command 'evalsha', with args",
    'Redis does not know a command that is needed (it is older than 6.2, or a sentinel: that is written redis+sentinel://), general, answered',
  ],
  ['ERR DB index is out of range', 'Redis has no database of this number, general, answered'],
  ['ERR OOMPH', 'Redis answered with an error that is not known, may have happened, answered'],
  [
    "NOPERM User u has no permissions to run the 'evalsha' command",
    'Redis does not permit our user the command evalsha, general, answered',
  ],
  [
    "NOPERM this user has no permissions to run the 'config|set' command",
    'Redis does not permit our user the command config|set, general, answered',
  ],
  [
    "ERR ACL failure in script: User u has no permissions to run the 'hset' command",
    'Redis does not permit our user the command hset, may have happened, general, answered',
  ],
  [
    "ERR The user executing the script can't run this command or subcommand",
    'Redis does not permit our user a command that it needs, may have happened, general, answered',
  ],
  ['NOPERM in words of its own', 'Redis does not permit our user what it needs, general, answered'],
  ...[
    'NOPERM No permissions to access a key',
    'NOPERM this user has no permissions to access one of the keys used as arguments',
    "ERR The user executing the script can't access at least one of the keys",
  ].map(
    (answer) =>
      [answer, 'Redis does not permit our user the names that it needs, general, answered'] as const,
  ),
  ...[
    'NOPERM this user has no permissions to access one of the channels used as arguments',
    'ERR ACL failure in script: No permissions to access a channel',
    "ERR The user executing the script can't publish to the channel mentioned in the command",
  ].map(
    (answer) =>
      [answer, 'Redis does not permit our user the channel that tells of changed keys, answered'] as const,
  ),
];

test('what Redis refuses has not happened, and is told in our words', () => {
  for (const [answer, expected] of refusals) assert.equal(told(replyError(answer)), expected);
});

const never = new NeverSent();
const offline = new Error("Stream isn't writeable and enableOfflineQueue options is false");
const cutOff = Object.assign(new Error('Reached the max retries per request limit'), {
  name: 'MaxRetriesPerRequestError',
});
const behindCluster = Object.assign(new Error('Failed to refresh slots cache.'), {
  lastNodeError: Object.assign(new Error('x'), { lastNodeError: socketError('ECONNREFUSED') }),
});

const losses: readonly (readonly [thrown: unknown, told: string])[] = [
  [never, 'Redis is not connected: Redis has gone, general, may pass'],
  [offline, 'Redis is not connected: Redis has gone, general, may pass'],
  [cutOff, 'Redis has gone, may have happened, general, may pass'],
  [new Silence(9), 'Redis did not answer within 9 ms, may have happened, general, may pass'],
  ...['MOVED 7 10.0.0.1:1', 'ASK 7 10.0.0.1:1', 'TRYAGAIN Multiple keys'].map(
    (answer) =>
      [
        new Error(`Too many Cluster redirections. Last error: ReplyError: ${answer}`),
        'Redis is moving the slot, answered, may pass',
      ] as const,
  ),
  [
    new Error('Too many Cluster redirections. Last error: Error: Connection is closed.'),
    'Redis closed the connection or cannot be reached, may have happened, general',
  ],
  [
    new Error('All sentinels are unreachable. Retrying from scratch after 10ms. Last error: NOAUTH no'),
    'Redis cannot be found: the last sentinel that was asked wants a password, general',
  ],
  [
    new Error('All sentinels are unreachable. Last error: LOADING it is'),
    'Redis cannot be found: the last sentinel that was asked is loading its data, general, may pass',
  ],
  [
    new Error('All sentinels are unreachable and retry is disabled.'),
    'Redis cannot be found: the last sentinel that was asked cannot be reached, general, may pass',
  ],
  [
    new Error('ERR No such master with that name'),
    'Redis has no master of this name, say its sentinels, general',
  ],
  [new Error('Connection is closed.'), closed('', 'may have happened, general, may pass')],
  [
    new Error('Unknown RESP type 72 "H". Please report this.'),
    'Redis answers in another protocol, may have happened, general',
  ],
  [new Error('Protocol error'), closed('', 'may have happened, general')],
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'].map(
    (code) => [socketError(code), closed(` (${code})`, 'general, may pass')] as const,
  ),
  ...['ECONNRESET', 'EPIPE', 'ETIMEDOUT'].map(
    (code) => [socketError(code), closed(` (${code})`, 'may have happened, general, may pass')] as const,
  ),
  [socketError('CERT_HAS_EXPIRED'), closed(' (CERT_HAS_EXPIRED)', 'may have happened, general')],
  [
    socketError('ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE'),
    closed(' (ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE)', 'may have happened, general'),
  ],
  [socketError('swordfish'), closed('', 'may have happened, general')],
  [behindCluster, closed(' (ECONNREFUSED)', 'general, may pass')],
  ['nothing that is an error', closed('', 'may have happened, general')],
];

function closed(code: string, facts: string): string {
  return `Redis closed the connection or cannot be reached${code}, ${facts}`;
}

test('what is lost with a connection may have happened, unless it was surely not sent', () => {
  for (const [thrown, expected] of losses) assert.equal(told(thrown), expected);
  const known = { message: 'Redis wants a password', isTemporary: false };
  assert.equal(told(never, known), 'Redis is not connected: Redis wants a password, general');
  assert.equal(told(cutOff, known), 'Redis wants a password, may have happened, general');
});

test('what is to be done about a failure follows from how it begins, and from what ioredis adds to it', () => {
  const all = [
    never,
    offline,
    cutOff,
    replyError('READONLY'),
    replyError('CROSSSLOT'),
    replyError('NOSCRIPT No matching script.'),
    'none',
  ];
  assert.deepEqual(all.map(tellsNoReason), [true, true, true, false, false, false, false]);
  const refused = (['READONLY', 'CROSSSLOT', 'NOSCRIPT'] as const).map((code) =>
    all.findIndex((thrown) => isRefusal(thrown, code)),
  );
  assert.deepEqual(refused, [3, 4, 5]);
});
