import type { PlanRule } from '../config/plan-rule.ts';

/** What a request asks of the limits of its key. */
export interface ReserveOrder {
  readonly keyId: string;
  readonly plan: PlanRule;
  /** Units of every quota; 0 asks no quota at all. */
  readonly cost: number;
  /** When the client leaves, the wait for a draw rejects with the reason, and nothing stays reserved. */
  readonly whenLeft?: WhenLeft;
}

/**
 * Calls back, with the reason, when the client leaves: at once if it already has, and then there is nothing to stop. Returns how
 * to stop it.
 */
export type WhenLeft = (tell: (reason: unknown) => void) => () => void;
