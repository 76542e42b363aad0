/** Names in the file and ids of keys: they go into headers, logs and paths unchanged. */
export const namePattern = '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$';

/** What is said of another one. */
export const nameCure = 'use up to 64 letters, digits, ".", "_" and "-", a letter or digit first';
