import type { Verdict } from '../../admin/readiness.ts';
import type { Address } from '../../config/config.ts';
import type { HandedConfig } from '../../config/hand-over.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Snapshot } from '../../telemetry/merged-metrics.ts';

/** What a worker needs to begin: all of them run what the leading process has read, whatever became of the file. */
export interface Beginning {
  readonly config: HandedConfig;
  readonly logFormat: Log['format'];
  /** Which one it is where the file says 0. */
  readonly port: number;
  /** Whether there is no other yet. */
  readonly isFirst: boolean;
  /** The database that the first of them has opened: whoever comes later takes no other. */
  readonly storeIdentity?: string | undefined;
}

/** What the leading process says to a worker. */
export type Order =
  | { readonly kind: 'begin'; readonly beginning: Beginning }
  | { readonly kind: 'drain' }
  | { readonly kind: 'reload'; readonly id: number; readonly config: HandedConfig }
  | ({ readonly kind: 'ask' } & Question);

/** What is asked, and the number by which its answer is known. */
export interface Question {
  readonly id: number;
  readonly about: keyof Answers;
}

/** A worker that is at work. */
export interface Ready {
  readonly listen: Address;
  readonly storeIdentity: string | undefined;
}

/** What a worker says to the leading process. */
export type Report =
  /** It listens to orders. What is said to it sooner is lost. */
  | { readonly kind: 'awake' }
  | ({ readonly kind: 'ready' } & Ready)
  | { readonly kind: 'answer'; readonly id: number; readonly answer: Answers[keyof Answers] }
  /** The last numbers of a worker that is about to end. */
  | { readonly kind: 'farewell'; readonly metrics: Snapshot };

/** What can be asked of a worker, and the form of its answer. */
export interface Answers {
  readonly metrics: Snapshot;
  readonly readiness: Verdict;
  /** It serves by the configuration that it was sent. */
  readonly reloaded: true;
  /** All that it has to say has left it. */
  readonly logged: true;
}
