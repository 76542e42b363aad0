import { depart, whenThereIsRoom } from '../../src/waiting/departures.ts';
import { whenAllIsRead } from '../../src/waiting/when-all-is-read.ts';
import { holdUp } from './hold-up.ts';
import type { Scene } from './poll.ts';

/** As some go on in each turn of a jam, these keep whoever is held back behind them waiting for seconds. */
const aheadMany = 20_000;

/** Keeps a jam of what waits to leave for upstreams, with so many held back already, until the function returned is called. */
export function keepJammed(t: Scene, ahead = aheadMany): () => void {
  let isOver = false;
  const waitAgain = (): void => {
    if (!isOver) depart(waitAgain);
  };
  for (let i = 0; i < 200; i += 1) depart(waitAgain);
  for (let i = 0; i < ahead; i += 1) whenThereIsRoom(() => undefined);
  const takeTime = (): void => {
    if (isOver) return;
    holdUp(1);
    whenAllIsRead(takeTime);
  };
  takeTime();
  const end = (): void => void (isOver = true);
  t.after(end);
  return end;
}
