/** The exit codes of the process, after sysexits.h, so that scripts can tell the reasons apart. */
export const exitCodes = {
  ok: 0,
  /** What was checked has mistakes, what was asked for is not there, or the answer is no. */
  failed: 1,
  usage: 64,
  /** A list lacks what could not be read in the store, and has all the rest. */
  unreadable: 65,
  /** A file could not be read. */
  noInput: 66,
  /** A port could not be opened, or something else of the system is not there. */
  unavailable: 69,
  /** A fault of the gateway itself. */
  internal: 70,
  /** Standard output could not be written. */
  output: 73,
  /** The store could not be opened. */
  store: 74,
  /** The configuration is not valid. */
  config: 78,
} as const;

/** What a shell reports of a process that a signal ended: 128 plus its number. */
export const endedBy = { SIGINT: 130, SIGTERM: 143, SIGPIPE: 141 } as const;
