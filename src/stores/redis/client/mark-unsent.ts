import type { Cluster } from 'ioredis';
import { connectionClosed, NeverSent } from '../failures.ts';

/**
 * Makes a call that found its node away fail as one that was never sent. ioredis 6.0.0 fails it like those that were lost with their
 * connection, but while it looks for the node: before the call is sent at all, or after an answer that redirects it.
 */
export function markUnsent(cluster: Cluster): void {
  const send = cluster.sendCommand.bind(cluster);
  cluster.sendCommand = (command, ...rest) => {
    let isLooking = false;
    const whileLooking = (look: () => unknown): void => {
      isLooking = true;
      look();
      isLooking = false;
    };
    const fail = command.reject.bind(command);
    command.reject = (error) => fail(isLooking && saysClosed(error) ? new NeverSent() : error);
    whileLooking(() => send(command, ...rest));
    // The cluster has put its own in front, which looks where to go on from here.
    const goOn = command.reject.bind(command);
    command.reject = (error) => (saysClosed(error) ? goOn(error) : whileLooking(() => goOn(error)));
    return command.promise;
  };
}

function saysClosed({ message }: Error): boolean {
  return message === connectionClosed;
}
