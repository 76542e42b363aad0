import type { ReadinessReport } from '../../admin/readiness.ts';
import type { Address } from '../../config/config.ts';
import type { HandedConfig } from '../../config/hand-over.ts';
import type { LogForm } from '../../telemetry/log.ts';
import type { Snapshot } from '../../telemetry/merged-metrics.ts';

/** What a worker needs to begin: all workers run what the leading process has read, whatever has become of the file since. */
export interface Beginning {
  readonly config: HandedConfig;
  /** As the standard output of the leading process has it, through which all lines go. */
  readonly logForm: LogForm;
  /** The actual one where the file says 0. */
  readonly port: number;
  /** The database that the first worker has opened: those that come later take no other. */
  readonly storeIdentity?: string | undefined;
}

/** What the leading process says to a worker. */
export type Order =
  | { readonly kind: 'begin'; readonly beginning: Beginning }
  | { readonly kind: 'drain' }
  /** Answered once it serves by that configuration. */
  | { readonly kind: 'reload'; readonly id: number; readonly config: HandedConfig }
  /** One of all workers tells which keys are in both the file and the store. */
  | { readonly kind: 'tellKeysInBoth' }
  | ({ readonly kind: 'ask' } & Question);

/** What is asked, and the number that its answer is known by. */
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
  /** It listens to orders. What is sent to it sooner is lost. */
  | { readonly kind: 'awake' }
  | ({ readonly kind: 'ready' } & Ready)
  /** Somebody else has asked it to stop. It serves until it is told to drain. */
  | { readonly kind: 'leaving' }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: Answer }
  /** What a worker that is about to end has counted. */
  | { readonly kind: 'farewell'; readonly counts: Snapshot };

/** What a worker answers: what it was asked, or that it has done what was ordered. */
export type Answer = Answers[keyof Answers] | true;

/** What can be asked of a worker, and the form of its answer. */
export interface Answers {
  readonly metrics: Snapshot;
  /** Of the metrics only what outlives the worker. */
  readonly counts: Snapshot;
  readonly readiness: ReadinessReport;
  /** All that it has logged has left it. */
  readonly logged: true;
}
