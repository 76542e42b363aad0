/** What to run to bring a file from each `user_version` to the next. Entries are only ever added. */
export const migrations: readonly string[] = [
  `
  CREATE TABLE keys (
    id TEXT PRIMARY KEY,
    record TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE secrets (
    digest TEXT PRIMARY KEY,
    key TEXT NOT NULL REFERENCES keys (id) ON DELETE CASCADE
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX secrets_of_key ON secrets (key);
  `,
];
