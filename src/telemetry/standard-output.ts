import sonicBoom from 'sonic-boom';

/** Where the lines of the log go: another thread writes them, and traffic never waits for their reader. */
interface StandardOutput {
  readonly write: (piece: Buffer) => void;
  /** How many lines were dropped so far: readers of the log cannot see that some are missing. */
  readonly lostLines: () => number;
  /** Waits until all is written; gives up on a pipe that does not take it. */
  readonly flush: () => Promise<void>;
}

/** What may wait in memory for a log pipe that is blocked. Beyond it lines are dropped: traffic matters more. */
const backlogBytesMax = 8 * 1024 * 1024;
/**
 * A pipe is full at 64 KB, and nobody tells when there is room again. What the library would wait by itself, 100 ms, is less than a
 * megabyte a second: a reader that had paused once would never again have kept up with a gateway under load.
 */
const fullForMs = 5;
const lineEnd = 0x0a;
/** A flush gives up when nothing was taken for so long, and after so long in all. */
const flushPatienceMs = 1000;
const flushMaxMs = 4000;

export function openStandardOutput(): StandardOutput {
  const out = new sonicBoom.SonicBoom({
    fd: process.stdout.fd,
    sync: false,
    contentMode: 'buffer',
    maxLength: backlogBytesMax,
    retryEAGAIN: () => false,
  });
  let waitingBytes = 0;
  let lostLines = 0;
  let retry: NodeJS.Timeout | undefined;
  out.on('write', (bytes: number) => {
    waitingBytes -= bytes;
  });
  out.on('drop', (piece: Buffer) => {
    waitingBytes -= piece.length;
    for (const byte of piece) if (byte === lineEnd) lostLines += 1;
  });
  // A reader that went away (EPIPE) or any other fault of the pipe must not end the process: lines are lost, traffic goes on.
  out.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EAGAIN') retry ??= setTimeout(writeAgain, fullForMs);
  });

  function writeAgain(): void {
    retry = undefined;
    out.flush();
  }

  return {
    write(piece) {
      waitingBytes += piece.length;
      out.write(piece as Buffer & string); // its types know no buffers
    },
    lostLines: () => lostLines,
    flush: () =>
      new Promise((resolve) => {
        const patience = setTimeout(end, flushPatienceMs);
        const most = setTimeout(end, flushMaxMs);
        out.on('write', look).on('error', endUnlessFull);
        out.flush();
        if (waitingBytes === 0) end();

        function look(): void {
          if (waitingBytes === 0) end();
          else patience.refresh();
        }
        function endUnlessFull(error: NodeJS.ErrnoException): void {
          if (error.code !== 'EAGAIN') end();
        }
        function end(): void {
          clearTimeout(patience);
          clearTimeout(most);
          out.off('write', look).off('error', endUnlessFull);
          resolve();
        }
      }),
  };
}
