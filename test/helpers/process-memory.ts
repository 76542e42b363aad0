import { closeSync, openSync, readFileSync, readSync } from 'node:fs';

/** The largest memory that a process of ours has had so far. */
export function peakMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

/** Whether a process of ours holds this text in its own memory, as the bytes of its characters or in UTF-16. */
export function holdsInMemory(pid: number, text: string): boolean {
  const forms = [Buffer.from(text), Buffer.from(text, 'utf16le')];
  const memory = openSync(`/proc/${pid}/mem`, 'r');
  try {
    return writableRanges(pid).some(([start, end]) => {
      const bytes = readRange(memory, start, end);
      return forms.some((form) => bytes.includes(form));
    });
  } finally {
    closeSync(memory);
  }
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
