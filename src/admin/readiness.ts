import type { Upstream } from '../upstream/upstream.ts';
import type { Store } from '../stores/store.ts';

/** Whether this process should be sent traffic, and why not. */
export interface Readiness {
  check(): Promise<Verdict>;
  /** From now on the answer is no: the process is about to stop. */
  drain(): void;
}

export interface Verdict {
  readonly ready: boolean;
  /** What is wrong, one sentence each; a ready gateway may still have something to tell. */
  readonly reasons: readonly string[];
}

/** Probes come often and from several sides; the answer is at most this old. */
const keptForMs = 1000;

export function createReadiness(store: Store, upstreams: Iterable<Upstream>): Readiness {
  const all = [...upstreams];
  let draining = false;
  let last: { at: number; verdict: Promise<Verdict> } | undefined;

  async function look(): Promise<Verdict> {
    const [storeReason, ...upstreamReasons] = await Promise.all([
      reasonOf('the store does not answer', store.probe()),
      ...all.map((upstream) =>
        reasonOf(`no target of upstream ${upstream.name} can be reached`, upstream.probe()),
      ),
    ]);
    const reasons = [storeReason, ...upstreamReasons].filter((reason) => reason !== undefined);
    const reachable = upstreamReasons.some((reason) => reason === undefined);
    return { ready: storeReason === undefined && reachable, reasons };
  }

  return {
    async check() {
      if (draining) return { ready: false, reasons: ['the gateway is stopping'] };
      const now = performance.now();
      if (last === undefined || now - last.at > keptForMs) last = { at: now, verdict: look() };
      return await last.verdict;
    },
    drain() {
      draining = true;
    },
  };
}

async function reasonOf(reason: string, attempt: Promise<void>): Promise<string | undefined> {
  try {
    await attempt;
    return undefined;
  } catch {
    return reason;
  }
}
