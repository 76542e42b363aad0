import type { Grant, Outcome } from '../quota/grants.ts';
import type { Progress } from '../upstream/exchange.ts';

/**
 * Grant + what really happened → charged or given back, exactly once, and the place is free. Called at the end, whatever became
 * of the request.
 */
export function settle(grant: Grant, progress: Progress): void {
  grant.settle(outcomeOf(progress), progress.cost);
}

/**
 * An answer that the upstream broke off is a failure of the upstream; one that the client broke off was answered. So was one that
 * switched protocols: ending the connection then breaks off no answer.
 */
function outcomeOf({ sent, answered, cut }: Progress): Outcome {
  if (!sent) return { kind: 'unsent' };
  const isBroken = (cut === 'upstream' || cut === 'gateway') && answered !== 101;
  if (answered === undefined || isBroken) return { kind: 'unanswered' };
  return { kind: 'answered', status: answered };
}
