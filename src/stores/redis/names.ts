/** The Redis keys of one API key: all in one hash slot, whatever characters its id has. */
export interface KeyNames {
  readonly steps: (holder: string) => [latest: string, earlier: string];
  readonly counter: (counter: { readonly name: string; readonly periodStart: number }) => string;
  readonly rate: (name: string) => string;
  readonly places: () => string;
}

/** Names what belongs to an API key. Free text comes last in each name, so two names are never the same by accident. */
export function nameKeys(prefix: string, keyId: string): KeyNames {
  // Only what is in the first braces decides the slot, and empty braces do not count: hence the letter.
  const tag = `${prefix}{k${Buffer.from(keyId).toString('base64url')}}`;
  return {
    steps: (holder) => [`${tag}:steps:${holder}`, `${tag}:earlier:${holder}`],
    counter: ({ name, periodStart }) => `${tag}:used:${periodStart}:${name}`,
    rate: (name) => `${tag}:rate:${name}`,
    places: () => `${tag}:places`,
  };
}
