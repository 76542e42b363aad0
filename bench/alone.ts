import { once } from 'node:events';
import { createServer } from 'node:net';
import { CannotRun } from './cannot-run.ts';

/**
 * Throws where another bench is running on this core: each would measure the other. The name it takes is no file (unix(7), abstract
 * addresses), so it is free again however the bench ends.
 */
export async function needAlone(core: string): Promise<void> {
  const name = createServer().unref();
  name.listen(`\0gatehouse-bench on core ${core}`);
  try {
    await once(name, 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new CannotRun('Another bench is running on this core: each would measure the other.');
  }
}
