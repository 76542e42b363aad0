import type { Redis } from 'ioredis';
import { Countdown } from '../../waiting/countdown.ts';
import { whenAllIsRead } from '../../waiting/when-all-is-read.ts';

/**
 * Makes a client of ioredis 6.0.0 read before it judges: its own `socketTimeout` would give up the connection of a process that was
 * held up for so long, although the answer waits there to be read, or the question has just left. The client calls this method after
 * each command that it sends.
 */
export function mindSilence(client: Redis): Redis {
  let watched: Redis['stream'] | undefined;
  let expectAnswer: () => void;
  return Object.assign(client, {
    setSocketTimeout() {
      if (watched !== client.stream) {
        watched = client.stream;
        expectAnswer = watch(client);
      }
      expectAnswer();
    },
  });
}

/** Ends the connection that the client has once it owes an answer and nothing comes. The function returned says that it owes one. */
function watch(client: Redis): () => void {
  const { stream, options } = client;
  const { socketTimeout: patienceMs = 0 } = options;
  let owes = false;
  const silence = new Countdown(patienceMs, () =>
    stream.destroy(new Error(`No answer within ${patienceMs} ms`)),
  );
  // At the end of the turn what was gathered for Redis has left, however long the turn took.
  const begin = (): void => {
    if (owes) silence.start();
  };
  // The client has read it by then: its listener is the first.
  stream.on('data', () => {
    owes = client.commandQueue.length > 0;
    silence.pause();
    if (owes) whenAllIsRead(begin);
  });
  stream.once('close', () => silence.end());
  return () => {
    if (owes) return;
    owes = true;
    whenAllIsRead(begin);
  };
}
