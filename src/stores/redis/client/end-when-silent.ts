import type { Redis } from 'ioredis';
import { Countdown } from '../../../waiting/countdown.ts';
import { whenAllIsRead } from '../../../waiting/when-all-is-read.ts';
import { Silence } from '../failures.ts';

/**
 * Makes a client of ioredis 6.0.0 end a connection on which an answer is owed for `socketTimeout`, but read what has come before.
 * Its own way gives up the connection of a process that was held up, although the answer waits to be read, or the question has just
 * left. The client calls this method after each command that it sends.
 */
export function endWhenSilent(client: Redis): Redis {
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

/**
 * Watches the connection that the client has now. Only whole answers count: bytes may come without end where a text was announced as
 * longer than it is. Call the function returned for each command that was sent.
 */
function watch(client: Redis): () => void {
  const { stream, options } = client;
  const { socketTimeout: patienceMs = 0 } = options;
  let sent = 0;
  /** While fewer answers than this have come, the countdown runs. */
  let expected = 0;
  const answered = (): number => sent - client.commandQueue.length;
  const silence = new Countdown(patienceMs, () => stream.destroy(new Silence(patienceMs)));
  // At the end of the turn what was gathered for Redis has left, however long the turn took.
  const begin = (): void => {
    if (answered() < expected) silence.start();
  };
  const expectAll = (): void => {
    expected = sent;
    if (answered() < expected) whenAllIsRead(begin);
  };
  // The client has read it by then: its listener is the first.
  stream.on('data', () => {
    if (answered() < expected) return;
    silence.pause();
    expectAll();
  });
  stream.once('close', () => silence.end());
  return () => {
    sent += 1;
    if (answered() >= expected) expectAll();
  };
}
