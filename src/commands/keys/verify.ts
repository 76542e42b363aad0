import { isIP } from 'node:net';
import { text } from 'node:stream/consumers';
import { exitCodes } from '../../exit-codes.ts';
import { invalidFields } from '../../keys/key-problem.ts';
import { covers } from '../../keys/scopes.ts';
import type { Verdict } from '../../keys/verify-key.ts';
import { createWording, Refusal, type RefusalCode } from '../../refusals.ts';
import { createRouteTable, findRoute } from '../../stages/find-route.ts';
import { paint, type Terminal } from '../terminal.ts';
import { atDesk, type Desk, type KeysOptions } from './open-book.ts';

export interface VerifyFlags {
  readonly from?: string;
  readonly path?: string;
  readonly method?: string;
}

const reasons = {
  good: 'it is in order',
  missing: 'no key was given',
  mistyped: 'it begins as our keys do and has a mistake in it',
  unknown: 'no key has this secret',
  wrong_network: 'it may not be used from this address',
  revoked: 'it was revoked',
  disabled: 'it is disabled',
  not_yet_valid: 'it is not valid yet',
  expired: 'it has expired',
  secret_expired: 'it was rotated, and the overlap is over',
} as const satisfies Record<Verdict['reason'], string>;

/** `gatehouse keys verify`: what the gateway would say to the key on standard input. */
export function verifyKey(options: KeysOptions & VerifyFlags): Promise<number> {
  return atDesk(options.config, async (desk) => {
    if (options.from !== undefined && isIP(options.from) === 0) {
      throw invalidFields([{ field: '--from', message: 'is no IP address' }]);
    }
    const secret = await readSecret(desk.terminal);
    const verdict = await desk.book.verify(secret, { client: options.from });
    const refusal = verdict.refusal ?? refusalOnRoute(verdict, options, desk);
    const answer = refusal === null ? null : answerText(refusal, desk);
    const { stdout } = desk.terminal;
    if (options.json === true) {
      stdout.write(
        `${JSON.stringify({ ...verdict, valid: refusal === null, refusal, answer }, undefined, 2)}\n`,
      );
    } else if (options.quiet !== true) {
      const key = verdict.key === null ? '' : `: key ${verdict.key.id}, plan ${verdict.key.plan}`;
      const mark = refusal === null ? paint('green', 'valid', stdout) : paint('red', 'refused', stdout);
      const why = verdict.valid && refusal !== null ? 'the request is not allowed' : reasons[verdict.reason];
      stdout.write(`${mark}${key}: ${why}\n${answer === null ? '' : `the gateway answers ${answer}\n`}`);
    }
    return refusal === null ? exitCodes.ok : exitCodes.failed;
  });
}

/** How a request with this path would go on after its key was found to be in order. */
function refusalOnRoute(
  verdict: Verdict,
  { path, method = 'GET' }: VerifyFlags,
  { config }: Desk,
): RefusalCode | null {
  if (path === undefined) return null;
  try {
    const route = findRoute(
      { path, method: method.toUpperCase() },
      createRouteTable(config.routes),
      Date.now(),
    );
    return covers(verdict.key?.scopes ?? [], route, path) ? null : 'key_not_allowed';
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
}

function answerText(code: RefusalCode, { config }: Desk): string {
  const { status, body } = createWording(config.errors)(new Refusal(code));
  return `${status} ${body}`;
}

/** A key never stands on a command line, where other users and the history of the shell can see it. */
async function readSecret({ stdin, stderr }: Terminal): Promise<string> {
  if (!stdin.isTTY) return (await text(stdin)).trim();
  stderr.write('Key (it is not shown): ');
  stdin.setRawMode(true);
  let typed = '';
  try {
    for await (const chunk of stdin) {
      for (const character of String(chunk)) {
        if (character === '\r' || character === '\n' || character === '\u0004') return typed.trim();
        if (character === '\u0003') return '';
        typed = character === '\u007F' || character === '\b' ? typed.slice(0, -1) : typed + character;
      }
    }
    return typed.trim();
  } finally {
    stdin.setRawMode(false);
    stderr.write('\n');
  }
}
