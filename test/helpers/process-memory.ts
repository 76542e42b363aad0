import { closeSync, openSync, readFileSync, readSync } from 'node:fs';

/** The largest memory that a process of ours has had so far. */
export function peakMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

/**
 * Searches the own memory of a process of ours for any of these texts, as the bytes of their characters or in UTF-16, as often as it
 * is called, and says which it has found.
 */
export function searchMemory(pid: number, texts: readonly string[]): () => string | undefined {
  const forms = texts.flatMap((text) => [
    { text, bytes: Buffer.from(text) },
    { text, bytes: Buffer.from(text, 'utf16le') },
  ]);
  // It is looked at first where something was found before: to look at all of it takes a tenth of a second.
  let foundAt: number | undefined;
  return () => {
    const memory = openSync(`/proc/${pid}/mem`, 'r');
    try {
      const ranges = writableRanges(pid);
      for (const [start, end] of [...ranges.filter(([at]) => at === foundAt), ...ranges]) {
        const bytes = readRange(memory, start, end);
        const found = forms.find((form) => bytes.includes(form.bytes));
        if (found === undefined) continue;
        foundAt = start;
        return found.text;
      }
      return undefined;
    } finally {
      closeSync(memory);
    }
  };
}

function writableRanges(pid: number): readonly (readonly [start: number, end: number])[] {
  const ranges = readFileSync(`/proc/${pid}/maps`, 'utf8').matchAll(/^([0-9a-f]+)-([0-9a-f]+) rw-p /gm);
  return [...ranges].map(([, start = '', end = '']) => [parseInt(start, 16), parseInt(end, 16)]);
}

/** What is there of a range that may be given back meanwhile. */
function readRange(memory: number, start: number, end: number): Buffer {
  const bytes = Buffer.allocUnsafeSlow(end - start);
  let filled = 0;
  try {
    for (let read = -1; read !== 0 && filled < bytes.length; filled += read) {
      read = readSync(memory, bytes, filled, bytes.length - filled, start + filled);
    }
  } catch {
    // The kernel answers EIO or EFAULT for what is not there any more.
  }
  return bytes.subarray(0, filled);
}
