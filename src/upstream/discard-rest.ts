import type { IncomingMessage } from 'node:http';

const restMs = 3000;

/** What still comes is thrown away for a while: closing on a client that is sending would reset its connection. */
export async function discardRest(req: IncomingMessage): Promise<void> {
  if (req.complete || req.destroyed) return;
  await new Promise<void>((resolve) => {
    const patience = setTimeout(finish, restMs);
    function finish(): void {
      clearTimeout(patience);
      req.off('end', finish).off('close', finish);
      resolve();
    }
    req.on('end', finish).on('close', finish).resume();
  });
}
