import { styleText } from 'node:util';
import { requireAddress, verdictReasons, verifyRequest } from '../../admin/verify-request.ts';
import { atDesk, type CommandFlags } from '../desk.ts';
import { endedBy, exitCodes } from '../exit-codes.ts';
import { readSecret } from '../terminal.ts';

interface VerifyFlags {
  readonly from?: string;
  readonly path?: string;
  readonly method?: string;
}

/** `gatehouse keys verify`: what the gateway would say to the key on standard input. */
export function verifyKey(options: CommandFlags & VerifyFlags): Promise<number> {
  return atDesk({ ...options, readOnly: true }, async (open) => {
    const { from, path, method } = options;
    requireAddress(from); // before somebody types the key
    const secret = await readSecret(open.terminal, open.config.limits.headerBytes);
    if (secret === undefined) return endedBy.SIGINT;
    const { answer, ...verdict } = await verifyRequest(secret, { from, path, method }, open);
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
      const why = inOrder ? 'the request is not allowed' : verdictReasons[verdict.reason];
      const unchecked = from === undefined && (verdict.key?.networks ?? []).length > 0;
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
