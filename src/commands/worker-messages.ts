import type { Verdict } from '../admin/readiness.ts';
import type { Address } from '../config/config.ts';
import type { Snapshot } from '../merged-metrics.ts';

/** What the leading process says to a worker. */
export type Order =
  | { readonly kind: 'drain' }
  | { readonly kind: 'ask'; readonly id: number; readonly about: keyof Answers };

/** What a worker says to the leading process. */
export type Report =
  | { readonly kind: 'ready'; readonly listen: Address }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: Answers[keyof Answers] }
  /** The last numbers of a worker that is about to end. */
  | { readonly kind: 'farewell'; readonly metrics: Snapshot };

/** What can be asked of a worker, and the form of its answer. */
export interface Answers {
  readonly metrics: Snapshot;
  readonly readiness: Verdict;
}
