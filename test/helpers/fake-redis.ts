import { createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { listen } from './listen.ts';

/** What any Redis says when it is connected to, and OK to all else. */
export function greet(command: string, socket: Socket): void {
  const greetings: Readonly<Record<string, string>> = { info: '$0\r\n\r\n', ping: '+PONG\r\n' };
  socket.write(greetings[command] ?? '+OK\r\n');
}

/** A server that is taken for a Redis, and answers each command as the test says. Returns its port. */
export async function startFake(
  t: TestContext,
  answer: (command: string, socket: Socket) => void,
): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk) => {
      for (const [, command = ''] of chunk.toString().matchAll(/\*\d+\r\n\$\d+\r\n(\w+)/g)) {
        answer(command.toLowerCase(), socket);
      }
    });
    t.after(() => socket.destroy());
  });
  return listen(t, server);
}
