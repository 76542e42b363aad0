/** A version's age as the answers tell it: `Deprecation` (RFC 9745) and `Sunset` (RFC 8594), with a link to read on. */
export function versionHeaders(version: {
  readonly deprecatedAt: number | undefined;
  readonly sunsetAt: number | undefined;
  readonly link: string | undefined;
}): [name: string, value: string][] {
  const headers: [string, string][] = [];
  const { deprecatedAt, sunsetAt, link } = version;
  if (deprecatedAt !== undefined) headers.push(['Deprecation', `@${Math.floor(deprecatedAt / 1000)}`]);
  if (sunsetAt !== undefined) headers.push(['Sunset', new Date(sunsetAt).toUTCString()]);
  if (link !== undefined)
    headers.push(['Link', `<${link}>; rel="${deprecatedAt === undefined ? 'sunset' : 'deprecation'}"`]);
  return headers;
}
