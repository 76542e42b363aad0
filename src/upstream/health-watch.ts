import type { HealthRule } from '../config/config.ts';
import { afterReading } from '../waiting/when-all-is-read.ts';
import { isShortage, Unhealthy } from './failures.ts';
import { type Checked, HealthCheck } from './health-check.ts';

/** Checks the health of one target again and again. It counts as healthy until a check says otherwise. */
export class HealthWatch {
  readonly #target: Checked;
  readonly #rule: HealthRule;
  readonly #whenJudged: (fault: Error | undefined) => void;
  #check: HealthCheck | undefined;
  #stopWaiting: (() => void) | undefined;
  /** Checks in a row that had no answer. */
  #misses = 0;

  /** `whenJudged` is told after each check what is wrong with the target, if anything is. */
  constructor(target: Checked, rule: HealthRule, whenJudged: (fault: Error | undefined) => void) {
    this.#target = target;
    this.#rule = rule;
    this.#whenJudged = whenJudged;
  }

  begin(): void {
    this.#check = new HealthCheck(this.#target, this.#rule, (fault) => this.#hear(fault));
    this.#check.start();
  }

  stop(): void {
    this.#stopWaiting?.();
    this.#check?.stop();
  }

  /** What a target says of itself counts at once. A single check that nobody answers may be chance. */
  #hear(fault: Error | undefined): void {
    const { everyMs } = this.#rule;
    this.#stopWaiting = afterReading(everyMs * (1 - Math.random() * spread), () => this.begin());
    if (isShortage(fault)) return;
    const isAnswer = fault === undefined || fault instanceof Unhealthy;
    this.#misses = isAnswer ? 0 : this.#misses + 1;
    if (this.#misses !== 1) this.#whenJudged(fault);
  }
}

/** By how much of its time a check may come sooner, so that those of many processes do not come together. */
const spread = 0.1;
