/** Keeps this process from doing anything else. It sleeps, because other tests can use the processor meanwhile. */
export function holdUp(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
