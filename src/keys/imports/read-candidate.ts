import { hash } from 'node:crypto';
import { digestOfNothing } from '../../config/digest.ts';
import { doubtAbout, isHash, isVariable, notVisible, nowhereElse } from '../../config/weak-secret.ts';
import type { KeyRecord } from '../../stores/key-store.ts';
import { completeFields, type KeyFields, type WrittenFields } from '../key-fields.ts';
import { createKeyId } from '../key-id.ts';
import { invalidField, KeyProblem, readTogether } from '../key-problem.ts';
import type { KeyRules, KeyTools } from '../key-rules.ts';
import { onlyPlan } from '../new-key.ts';
import { readKeyFields, readKeyId } from '../read-key-fields.ts';
import { isOfUse } from '../scopes.ts';

const secretLengthMax = 1024;

export type Candidate = WholeLine | PartialLine;

/** A line that makes a key, if there is none with its secret. */
export interface WholeLine extends ReadLine {
  readonly kind: 'whole';
  readonly record: KeyRecord;
}

/** A line that cannot make one, for this reason: that is no fault if it is about an existing key. */
export interface PartialLine extends ReadLine {
  readonly kind: 'partial';
  readonly problem: KeyProblem;
}

interface ReadLine {
  readonly number: number;
  readonly digest: string;
  /** The id that the line asks for. */
  readonly id: string | undefined;
  /** What it says about an existing key. */
  readonly fields: Partial<KeyFields>;
  readonly warning: string | undefined;
}

/** Reads the fields of a line. Throws a `KeyProblem` that says what is wrong with them. `plan` is for lines that name none. */
export function readCandidate(
  number: number,
  { id: wanted, secret, hash: digest, ...written }: WrittenFields,
  { rules, now, plan }: Pick<KeyTools, 'rules' | 'now'> & { readonly plan: string | undefined },
): Candidate {
  // A plan that the line does not name is for new keys only: an existing one keeps its own.
  const named = { ...written, plan: written['plan'] ?? undefined };
  // A hash comes from another store, where the key may have outlived a route. Its other scopes still say what it may do.
  const anyScope = typeof digest === 'string';
  const [fields, id] = readTogether(
    () => readKeyFields(named, rules, { besides: ['id', 'secret', 'hash'], anyScope, mayName: false }),
    () => readId(wanted ?? undefined, rules),
  );
  // Not before: a misspelt `secret` is reported as an unknown field.
  const given = readSecret(secret ?? undefined, digest ?? undefined, rules);
  if (typeof secret === 'string') refuseElsewhere(secret, { id: wanted, ...written });
  const at = now();
  const kept = { number: 1, ...given, createdAt: at, expiresAt: undefined };
  // The one in the file would be found first, and this one once that is removed.
  if (rules.staticKeys.some((key) => key.digest === kept.digest)) {
    const field = typeof secret === 'string' ? 'secret' : 'hash';
    throw invalidField(field, 'is that of a key in the configuration file');
  }
  const whole = wholeOf(fields, fields.plan ?? plan, rules);
  const rest = { version: 1, revokedAt: undefined, createdAt: at, secrets: [kept], requests: [] };
  const warning = secretWarning(secret) ?? scopeWarning(fields, rules);
  const line = { number, digest: kept.digest, id, fields, warning };
  if (whole instanceof KeyProblem) return { ...line, kind: 'partial', problem: whole };
  return { ...line, kind: 'whole', record: { ...whole, ...rest, id: id ?? createKeyId(at) } };
}

/** All other fields are shown, in lists, logs or headers. */
function refuseElsewhere(secret: string, others: WrittenFields): void {
  const field = Object.keys(others).find((name) => others[name] === secret);
  if (field !== undefined) throw invalidField(field, `is the secret too, ${nowhereElse}`);
}

function secretWarning(secret: unknown): string | undefined {
  const doubt = typeof secret === 'string' ? doubtAbout(secret) : undefined;
  return doubt && `secret ${doubt}`;
}

function scopeWarning({ scopes = [] }: Partial<KeyFields>, { routes }: KeyRules): string | undefined {
  const useless = scopes.flatMap((scope, at) => (isOfUse(scope, routes) ? [] : [`scopes[${at}]`]));
  if (useless.length === 0) return undefined;
  return `${useless.join(', ')} ${useless.length === 1 ? 'is' : 'are'} not among the routes`;
}

function wholeOf(
  fields: Partial<KeyFields>,
  plan: string | undefined,
  rules: KeyRules,
): KeyFields | KeyProblem {
  try {
    return completeFields(fields, plan ?? onlyPlan(rules), rules);
  } catch (error) {
    if (error instanceof KeyProblem) return error;
    throw error;
  }
}

function readId(wanted: unknown, { staticKeys }: KeyRules): string | undefined {
  const id = wanted === undefined ? undefined : readKeyId(wanted);
  if (staticKeys.some((key) => key.id === id)) {
    throw invalidField('id', 'is that of a key in the configuration file');
  }
  return id;
}

function readSecret(
  secret: unknown,
  digest: unknown,
  { format }: KeyRules,
): { readonly digest: string; readonly start: string } {
  if (secret !== undefined && digest !== undefined) {
    throw invalidField('', 'has a secret and a hash, and may have one of them only');
  }
  if (secret === undefined && digest === undefined) {
    throw invalidField('', 'has neither a secret nor a hash');
  }
  if (secret === undefined) {
    const hex = typeof digest === 'string' ? /^(?:sha256:)?([0-9a-fA-F]{64})$/.exec(digest)?.[1] : undefined;
    if (hex === undefined) throw invalidField('hash', 'must be sha256: and 64 hexadecimal digits');
    const lower = hex.toLowerCase();
    if (lower === digestOfNothing) throw invalidField('hash', 'is that of an empty text');
    return { digest: lower, start: '' };
  }
  if (typeof secret !== 'string' || !/^[\x21-\x7e]+$/.test(secret)) {
    throw invalidField('secret', notVisible);
  }
  if (secret.length > secretLengthMax) {
    throw invalidField('secret', `is longer than ${secretLengthMax} characters`);
  }
  if (isVariable(secret)) {
    throw invalidField('secret', 'looks like a variable that was not replaced');
  }
  if (isHash(secret)) throw invalidField('secret', 'is a hash, not the secret itself: write it as hash');
  if (format.judge(secret) === 'mistyped') {
    throw invalidField('secret', 'begins as our keys do and has a mistake in it');
  }
  return { digest: hash('sha256', secret), start: format.startOf(secret) };
}
