/** What metrics call the route of a request that found none. */
export const noRoute = 'none';

/** What logs and metrics call the path where callers read their usage. */
export const usageRoute = 'usage';
