/** A version's age as the answers tell it: `Deprecation` (RFC 9745) and `Sunset` (RFC 8594), with a link to read on. */
export function versionHeaders(version: {
  readonly deprecatedAt: number | undefined;
  readonly sunsetAt: number | undefined;
  readonly link: string | undefined;
}): Record<string, string> {
  const headers: Record<string, string> = {};
  const { deprecatedAt, sunsetAt, link } = version;
  if (deprecatedAt !== undefined) headers['Deprecation'] = `@${Math.floor(deprecatedAt / 1000)}`;
  if (sunsetAt !== undefined) headers['Sunset'] = new Date(sunsetAt).toUTCString();
  if (link !== undefined)
    headers['Link'] = `<${link}>; rel="${deprecatedAt === undefined ? 'sunset' : 'deprecation'}"`;
  return headers;
}
