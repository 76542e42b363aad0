import type { Socket } from 'node:net';
import { isClosed } from '../failures.ts';

/**
 * Makes a connection that takes nothing more be read to its end before it fails. An upstream that answers early and closes resets
 * what is still sent to it: at the first write after that Node would destroy the connection, with the answer unread.
 */
export function readToTheEnd(socket: Socket): void {
  for (const name of ['_write', '_writev']) {
    const write = Reflect.get(socket, name) as (...args: unknown[]) => void;
    Reflect.set(socket, name, (...args: unknown[]) => {
      const done = args.pop() as Done;
      write.call(socket, ...args, onceRead(socket, done));
    });
  }
}

type Done = (failure?: Error | null) => void;

function onceRead(socket: Socket, done: Done): Done {
  return (failure) => {
    if (!failure || !isClosed(failure) || !socket.readable) return done(failure);
    socket.once('close', () => done(failure));
    // The kernel tells of a reset once. To the reader it is now an end, which nobody may take for that of the answer.
    socket.removeAllListeners('end').once('end', () => socket.destroy(failure));
  };
}
