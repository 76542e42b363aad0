const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Headers that frame a message or belong to one connection, and those the gateway writes itself. */
const taken = new Set([
  'host',
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
  'forwarded',
  'x-request-id',
]);
const takenPrefixes = ['content-', 'proxy-', 'x-forwarded-', 'x-gatehouse-'];

/** Says why what is ours, such as the key, cannot travel in this header; undefined when it can. */
export function headerNameFault(name: string, what = 'a key'): string | undefined {
  if (!token.test(name) || name.length > 100) return 'is not a header name';
  // Servers behind CGI-like interfaces read `X_Request.Id` as `X-Request-Id`, so the variants are taken as well.
  const canonical = name.toLowerCase().replaceAll(/[_.]/g, '-');
  if (taken.has(canonical) || takenPrefixes.some((prefix) => canonical.startsWith(prefix))) {
    return `is a header with a meaning of its own, ${what} cannot travel in it`;
  }
  return undefined;
}
