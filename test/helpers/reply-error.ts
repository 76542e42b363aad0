/** An error as ioredis throws it for an answer that is one. */
export function replyError(message: string): Error {
  return Object.assign(new Error(message), { name: 'ReplyError' });
}
