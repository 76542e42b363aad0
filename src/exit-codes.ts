/** What the process says when it ends, after sysexits.h, so that scripts can tell the reasons apart. */
export const exitCodes = {
  ok: 0,
  /** A check found errors. */
  failed: 1,
  usage: 64,
  /** A file could not be read. */
  noInput: 66,
  /** A port could not be opened. */
  unavailable: 69,
  /** A fault of the gateway itself. */
  internal: 70,
  /** The store could not be opened. */
  store: 74,
  /** The configuration is not valid. */
  config: 78,
} as const;
