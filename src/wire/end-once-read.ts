import type { ServerResponse } from 'node:http';
import { lingerOn } from './linger.ts';
import { sendHead } from './send-head.ts';

/**
 * Sends the whole answer to a request of which more may come, and ends it when nothing more does. Its head has said that the
 * connection ends: Node would end it at once, and what still comes would reset it.
 */
export function endOnceRead(res: ServerResponse, body: string, whenWritten?: () => void): void {
  const { req } = res;
  if (req.method === 'HEAD' || body === '') sendHead(res);
  res.write(body, whenWritten);
  lingerOn(req, () => res.end());
}
