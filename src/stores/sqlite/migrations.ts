/** What to run to bring a file from each `user_version` to the next. Entries are only ever added. */
export const migrations: readonly string[] = [
  `
  CREATE TABLE counters (
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    period_start INTEGER NOT NULL,
    period_end INTEGER NOT NULL,
    used INTEGER NOT NULL,
    PRIMARY KEY (key, name, period_start)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX counters_by_end ON counters (period_end);

  -- What each process last told that it holds unspent of a counter.
  CREATE TABLE leases (
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    period_start INTEGER NOT NULL,
    holder TEXT NOT NULL,
    units INTEGER NOT NULL,
    told INTEGER NOT NULL,
    PRIMARY KEY (key, name, period_start, holder)
  ) STRICT, WITHOUT ROWID;

  -- Steps that were taken. The answer of a draw is JSON; NULL = the id is burnt.
  CREATE TABLE steps (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    key TEXT NOT NULL,
    taken INTEGER NOT NULL,
    answer TEXT
  ) STRICT;
  CREATE UNIQUE INDEX steps_by_id ON steps (id, key);

  -- A rate's next free moment as a base and a whole number of intervals after it.
  CREATE TABLE rates (
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    base REAL NOT NULL,
    cells INTEGER NOT NULL,
    interval REAL NOT NULL,
    rested INTEGER NOT NULL,
    PRIMARY KEY (key, name)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX rates_by_rest ON rates (rested);

  CREATE TABLE places (
    key TEXT NOT NULL,
    place TEXT NOT NULL,
    expires INTEGER NOT NULL,
    PRIMARY KEY (key, place)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX places_by_expiry ON places (expires);
  `,
  // The first files had other tables of these names, to which no command ever wrote.
  `
  DROP TABLE IF EXISTS secrets;
  DROP TABLE IF EXISTS keys;
  CREATE TABLE keys (
    id TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    record TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE secrets (
    digest BLOB PRIMARY KEY,
    key TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- When each secret of a key was used last. Apart from the key, because it is written often and is no change of it.
  CREATE TABLE uses (
    key TEXT NOT NULL,
    secret INTEGER NOT NULL,
    used INTEGER NOT NULL,
    PRIMARY KEY (key, secret)
  ) STRICT, WITHOUT ROWID;

  -- AUTOINCREMENT: a number that was pruned never comes again, or a reader of the feed would miss what bears it.
  CREATE TABLE audit (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    keys INTEGER NOT NULL,
    note TEXT NOT NULL
  ) STRICT;
  -- What changed, for processes that hold keys in memory. NULL = keys were added.
  CREATE TABLE key_changes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT
  ) STRICT;
  `,
  // Tells this file from another that takes its place. A copy of it is the same.
  `
  CREATE TABLE identity (id TEXT NOT NULL) STRICT;
  INSERT INTO identity VALUES (lower(hex(randomblob(16))));
  `,
  // Two indexes fewer to write: what is old is found without (prune-units.ts). Nobody repeats an earlier step, because whoever took
  // it was stopped for the upgrade.
  `
  DROP INDEX counters_by_end;
  DROP TABLE steps;
  CREATE TABLE steps (
    id TEXT NOT NULL,
    key TEXT NOT NULL,
    taken INTEGER NOT NULL,
    answer TEXT,
    PRIMARY KEY (id, key)
  ) STRICT, WITHOUT ROWID;

  -- How far a table has been gone through for what is old.
  CREATE TABLE walks (
    walked TEXT PRIMARY KEY,
    up_to TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  INSERT INTO walks VALUES ('steps', ''), ('counters', '');
  `,
];
