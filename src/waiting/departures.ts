import { whenAllIsRead } from './when-all-is-read.ts';

/**
 * How many requests leave in one turn of the event loop. If a whole crowd left in one turn, its requests would push each other's data
 * out of the processor's caches. Measured with 512 clients: 16 % less CPU, p99 53 ms where it was 79. With 64 clients there is no
 * difference; for them 24 in a turn are too few.
 */
const perTurn = 32;

/** How many waiting requests make a jam: whoever comes then has three turns to wait. */
const jam = 3 * perTurn;

/** How many go on in each turn of a jam: clients that make a connection for each request may keep it up, as nobody holds them back. */
const goOnInJam = perTurn / 4;

const waiting: (() => void)[] = [];
const heldBack: (() => void)[] = [];
/** How many of those who went on turned out to have left, without asking anything, since the last turn. */
let leftSince = 0;
/** A turn is planned, in which the first who wait leave and the first who were held back go on. One is, as long as there are any. */
let isPlanned = false;

/** Sends a request on to its upstream, by calling this when all is read: first come, first served, and only so many in one turn. */
export function depart(send: () => void): void {
  waiting.push(send);
  plan();
}

/** Whether so many wait to leave that whatever is begun now would only wait as well. */
export function isJammed(): boolean {
  return waiting.length >= jam;
}

/** Calls back when there is room, first come, first served: only so many at once as there is room for, or a few in a jam. */
export function whenThereIsRoom(goOn: () => void): void {
  heldBack.push(goOn);
  plan();
}

/** Whoever went on has left, so another goes on instead. */
export function leaveRoom(): void {
  leftSince += 1;
}

function plan(): void {
  if (isPlanned) return;
  isPlanned = true;
  whenAllIsRead(takeTurn);
}

function takeTurn(): void {
  isPlanned = false;
  const leaving = waiting.splice(0, perTurn);
  const goingOn = heldBack.splice(0, Math.max(jam - waiting.length, goOnInJam + leftSince));
  leftSince = 0;
  if (waiting.length > 0 || heldBack.length > 0) plan();
  for (const send of leaving) send();
  for (const goOn of goingOn) goOn();
}
