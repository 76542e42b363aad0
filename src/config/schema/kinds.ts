/** The common kinds of options. Each takes what the option is for, and what else the schema says of it. */
export const text = kind({ type: 'string' });
export const duration = kind({ type: 'string', format: 'duration' });
export const size = kind({ type: 'string', format: 'size' });
export const integer = kind({ type: 'integer' });
export const boolean = kind({ type: 'boolean' });
export const list = kind({ type: 'array' });
/** A mapping with these options and no others. */
export const mapping = kind({ type: 'object', additionalProperties: false });

function kind<const Kind extends object>(type: Kind) {
  return <const More extends object = object>(description: string, more?: More) =>
    ({ description, ...type, ...more }) as { readonly description: string } & Kind & More;
}
