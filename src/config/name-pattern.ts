/** What the names in the file and the ids of keys look like: they stand in headers, logs and paths as they are. */
export const namePattern = '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$';
