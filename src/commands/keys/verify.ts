import { isIP } from 'node:net';
import { styleText } from 'node:util';
import { verifyRequest } from '../../admin/verify-request.ts';
import { invalidField } from '../../keys/key-problem.ts';
import type { Verdict } from '../../keys/verify-key.ts';
import { atDesk, type CommandFlags } from '../desk.ts';
import { endedBy, exitCodes } from '../exit-codes.ts';
import { readSecret } from '../terminal.ts';

interface VerifyFlags {
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
  plan_unknown: 'its plan is not in the configuration',
  revoked: 'it was revoked',
  disabled: 'it is disabled',
  not_yet_valid: 'it is not valid yet',
  expired: 'it has expired',
  secret_expired: 'it was rotated, and the overlap is over',
} as const satisfies Record<Verdict['reason'], string>;

/** `gatehouse keys verify`: what the gateway would say to the key on standard input. */
export function verifyKey(options: CommandFlags & VerifyFlags): Promise<number> {
  return atDesk({ ...options, readOnly: true }, async (open) => {
    if (options.from !== undefined && isIP(options.from) === 0) {
      throw invalidField('--from', 'is not an IP address');
    }
    const secret = await readSecret(open.terminal, open.config.limits.headerBytes);
    if (secret === undefined) return endedBy.SIGINT;
    const { from: client, path, method } = options;
    const { answer, ...verdict } = await verifyRequest(secret, { client, path, method }, open);
    const words = answer === null ? null : `${answer.status} ${answer.body}`;
    const { stdout } = open.terminal;
    if (options.json === true) {
      stdout.write(`${JSON.stringify({ ...verdict, answer: words }, undefined, 2)}\n`);
    } else if (options.quiet !== true) {
      const key = verdict.key === null ? '' : `: key ${verdict.key.id}, plan ${verdict.key.plan}`;
      const mark = verdict.valid
        ? styleText('green', 'valid', { stream: stdout })
        : styleText('red', 'refused', { stream: stdout });
      const inOrder = verdict.reason === 'good' && !verdict.valid;
      const why = inOrder ? 'the request is not allowed' : reasons[verdict.reason];
      const unchecked = client === undefined && (verdict.key?.networks ?? []).length > 0;
      stdout.write(
        [
          `${mark}${key}: ${why}\n`,
          ...(words === null ? [] : [`the gateway answers ${words}\n`]),
          ...(unchecked ? ['its networks are not checked without --from\n'] : []),
        ].join(''),
      );
    }
    return verdict.valid ? exitCodes.ok : exitCodes.failed;
  });
}
