import type { Grant, Outcome } from '../quota/grants.ts';
import type { Progress } from '../upstream/exchange.ts';

/** How far a request came on its way to the upstream and back. */
type Exchange = Pick<Progress, 'sent' | 'answered' | 'cut' | 'cost'>;

/**
 * Grant + what really happened → charged or given back, exactly once, and the place is free. Called at the end, whatever became
 * of the request.
 */
export function settle(grant: Grant, exchange: Exchange): void {
  if (exchange.cost !== undefined) grant.correctCost(exchange.cost);
  grant.settle(outcomeOf(exchange));
  grant.leave();
}

/**
 * An answer that the upstream broke off is a failure of the upstream; one that the client broke off was answered. So was one that
 * switched protocols: ending the connection then breaks off no answer.
 */
function outcomeOf({ sent, answered, cut }: Exchange): Outcome {
  if (!sent) return { kind: 'unsent' };
  const isBroken = (cut === 'upstream' || cut === 'gateway') && answered !== 101;
  if (answered === undefined || isBroken) return { kind: 'unanswered' };
  return { kind: 'answered', status: answered };
}
