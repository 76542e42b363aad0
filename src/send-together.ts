import type { Socket } from 'node:net';

/**
 * What is sent in one turn of the event loop goes out together, once all is read that had come in. Sent one by one, each packet
 * wakes the process it is for, which has slept again since the last: half of the time of a send. Sent together they
 * find it awake. Measured: 10 to 24 % more requests per second.
 */
export function whenAllIsRead(send: () => void): void {
  if (waiting.length === 0) setImmediate(sendAll);
  waiting.push(send);
}

/** Has what is written to a socket from now on wait until all is read. */
export function holdUntilAllIsRead(socket: Socket | null): void {
  if (socket === null) return; // behind other answers on its connection, where it waits anyway
  socket.cork();
  whenAllIsRead(() => socket.uncork());
}

let waiting: (() => void)[] = [];

function sendAll(): void {
  const sends = waiting;
  waiting = [];
  for (const send of sends) send();
}
