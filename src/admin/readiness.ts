import { StoreUnavailable } from '../stores/store-unavailable.ts';
import type { Store } from '../stores/store.ts';
import { describeCause } from '../telemetry/log.ts';
import type { Upstream } from '../upstream/upstream.ts';
import { within } from '../waiting/patience.ts';

/** Whether this process should be sent traffic, and why not. */
export interface Readiness {
  check(): Promise<ReadinessReport>;
  /** From now on the answer is no: the process is about to stop. */
  drain(): void;
}

export interface ReadinessReport {
  readonly ready: boolean;
  /** The same for those who leave the store out of it: while it is away there is much that works. */
  readonly readyWithoutStore: boolean;
  /** What is wrong, one sentence each; a ready gateway may still have something to tell. */
  readonly reasons: readonly string[];
}

/** Probes come often and from several sides; the answer is at most this old. */
const keptForMs = 1000;
/**
 * How long an answer waits for what it looks at, as those who ask often give up after a second. What takes longer, as a connection
 * that comes to nothing does, counts as it last turned out.
 */
const patienceMs = 300;

type Probed = Pick<Upstream, 'name' | 'probe' | 'health'>;

export function createReadiness(store: Pick<Store, 'probe'>, upstreams: () => Iterable<Probed>): Readiness {
  const lookAtStore = createLook(() => store.probe(), {
    failed: whyNoStore,
    unknown: 'the store has not answered yet',
  });
  /** What is known of an upstream outlasts a reload that leaves it as it was. */
  const looks = new WeakMap<Probed, Look>();
  function lookAt(upstream: Probed): Look {
    return looks.getOrInsertComputed(upstream, ({ name }) =>
      createLook(() => upstream.probe(), {
        failed: (error) => `no target of upstream ${name} can be reached: ${describeCause(error).message}`,
        unknown: `no target of upstream ${name} has been reached yet`,
      }),
    );
  }

  let last: { at: number; report: Promise<ReadinessReport> } | undefined;

  async function judge(): Promise<ReadinessReport> {
    const [storeReason, ...upstreamReasons] = await Promise.all([
      lookAtStore(),
      ...[...upstreams()].map((upstream) => lookAt(upstream)()),
    ]);
    const ill = [...upstreams()].flatMap(illnessesOf);
    const reasons = [storeReason, ...upstreamReasons, ...ill].filter((reason) => reason !== undefined);
    const reachable = upstreamReasons.some((reason) => reason === undefined);
    return { ready: storeReason === undefined && reachable, readyWithoutStore: reachable, reasons };
  }

  return untilDrained(async () => {
    const now = performance.now();
    if (last === undefined || now - last.at > keptForMs) last = { at: now, report: judge() };
    return await last.report;
  });
}

/** Answers as the check does, until it is drained. */
export function untilDrained(check: Readiness['check']): Readiness {
  let draining = false;
  return {
    check: async () => (draining ? stoppingReport : await check()),
    drain() {
      draining = true;
    },
  };
}

const stoppingReport: ReadinessReport = {
  ready: false,
  readyWithoutStore: false,
  reasons: ['the gateway is stopping'],
};

/** In the words of the log, which hold no secret. */
function whyNoStore(error: unknown): string {
  const why = error instanceof StoreUnavailable ? `: ${error.message}` : '';
  return `the store does not answer${why}`;
}

/** Only told: where all are ill they get requests all the same, and a wrong health path should not take away every gateway. */
function illnessesOf({ name, health }: Probed): readonly string[] {
  return health().flatMap(({ target, fault }) =>
    fault === undefined
      ? []
      : `target ${target} of upstream ${name} is not healthy: ${describeCause(fault).message}`,
  );
}

type Look = () => Promise<string | undefined>;

/** Makes one attempt at a time, and resolves with what is wrong as far as is known by now; undefined = nothing. */
function createLook(
  attempt: () => Promise<void>,
  { failed, unknown }: { failed: (error: unknown) => string; unknown: string },
): Look {
  let reason: string | undefined = unknown;
  let running: Promise<void> | undefined;
  async function run(): Promise<void> {
    try {
      await attempt();
      reason = undefined;
    } catch (error) {
      reason = failed(error);
    }
    running = undefined;
  }
  return async () => {
    running ??= run();
    await within(patienceMs, running);
    return reason;
  };
}
