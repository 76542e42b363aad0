import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import type { StoreAddress } from '../../src/config/config.ts';
import type { Counter } from '../../src/stores/ledger.ts';

export interface Drawers {
  readonly unitsPerDraw: number;
  /** What all processes have told that they drew. */
  drawn(): number;
  /** Resolves when every process has found the quota exhausted. */
  finished(): Promise<void>;
}

/** What a drawing process is told in its first message. */
export interface DrawerTask {
  readonly address: StoreAddress;
  readonly counters: readonly Counter[];
  readonly unitsPerDraw: number;
}

export interface DrawersOptions extends Omit<DrawerTask, 'unitsPerDraw'> {
  readonly processes: number;
  /** As soon as so many units are drawn one process is killed with SIGKILL, and another started in its place. */
  readonly killOneAt: number;
}

/** Starts real processes that draw from one key as fast as they can until nothing is left. */
export function startDrawers(t: TestContext, { processes, killOneAt, ...rest }: DrawersOptions): Drawers {
  const task: DrawerTask = { ...rest, unitsPerDraw: 5 };
  let drawn = 0;
  const running = new Set<ChildProcess>();
  const ends: Promise<void>[] = [];
  t.after(() => {
    for (const child of running) child.kill('SIGKILL');
  });

  function start(): void {
    const child = fork(new URL('drawer.ts', import.meta.url), {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    running.add(child);
    child.on('message', (units) => {
      const before = drawn;
      drawn += Number(units);
      if (before < killOneAt && drawn >= killOneAt) replaceOne();
    });
    child.send(task);
    ends.push(endOf(child));
  }

  function replaceOne(): void {
    const [victim] = running;
    victim?.kill('SIGKILL');
    start();
  }

  async function endOf(child: ChildProcess): Promise<void> {
    // What it has told may still be on its way when it has ended.
    const told = once(child, 'disconnect');
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
    await told;
    running.delete(child);
    assert.ok(code === 0 || signal === 'SIGKILL', `a drawing process ended with ${code ?? signal}`);
  }

  for (let index = 0; index < processes; index += 1) start();
  return {
    unitsPerDraw: task.unitsPerDraw,
    drawn: () => drawn,
    async finished() {
      // With the one that is started meanwhile.
      for (const end of ends) await end;
    },
  };
}
