/** A random run of a model, which its seed repeats. */
interface World {
  /** What has happened in it. */
  readonly story: readonly string[];
  run(): Promise<void>;
}

interface WorldsOptions {
  /** `QUOTA_MODEL`: then QUOTA_MODEL_RUNS makes more of them, and QUOTA_MODEL_SEED repeats the one of a seed alone. */
  readonly name: string;
  readonly runs: number;
  readonly create: (seed: number) => World;
}

/** Runs one world after another. An error names the seed of the one that failed, and tells the end of its story. */
export async function runWorlds({ name, runs, create }: WorldsOptions): Promise<void> {
  const only = process.env[`${name}_SEED`];
  const count = Number(process.env[`${name}_RUNS`] ?? runs);
  const seeds = only === undefined ? Array.from({ length: count }, (_, run) => run + 1) : [Number(only)];
  for (const seed of seeds) {
    const world = create(seed);
    try {
      await world.run();
    } catch (cause) {
      const story = world.story.slice(-30).join('\n');
      throw new Error(`seed ${seed}: ${String(cause)}\n${story}`, { cause });
    }
  }
}
