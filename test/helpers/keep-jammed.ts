import { depart } from '../../src/waiting/departures.ts';
import type { Scene } from './poll.ts';

/** Keeps a jam of what waits to leave for upstreams, until the function returned is called. */
export function keepJammed(t: Scene): () => void {
  let isOver = false;
  const waitAgain = (): void => {
    if (!isOver) depart(waitAgain);
  };
  for (let i = 0; i < 200; i += 1) depart(waitAgain);
  const end = (): void => void (isOver = true);
  t.after(end);
  return end;
}
