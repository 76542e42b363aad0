/** The clocks and the timer of a process, in one place so that tests can turn them. */
export interface Clock {
  /** Milliseconds since the epoch. People and time servers set it; it may jump. */
  wall(): number;
  /** Milliseconds that only go forward, from any start. It may stand still while the machine sleeps. */
  mono(): number;
  /** Calls back once, unless cancelled first by calling what is returned. It never keeps the process alive. */
  after(delayMs: number, callback: () => void): () => void;
}

/** The real clocks. */
export const systemClock: Clock = {
  wall: () => Date.now(),
  mono: () => performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs).unref();
    return () => {
      clearTimeout(timer);
    };
  },
};
