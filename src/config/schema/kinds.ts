/** The common kinds of options. Each takes what the option is for, and what else the schema says of it. */
export const text = kind({ type: 'string' });
export const duration = kind({ type: 'string', format: 'duration' });
export const size = kind({ type: 'string', format: 'size' });
export const integer = kind({ type: 'integer' });
export const boolean = kind({ type: 'boolean' });
export const list = kind({ type: 'array' });

const closed = kind({ type: 'object', additionalProperties: false });

/** A mapping with these options and no others. */
export function mapping<const Required extends readonly string[], const Options extends object>(
  description: string,
  required: Required,
  properties: Options,
) {
  const needed = (required.length === 0 ? {} : { required }) as { readonly required: Required };
  return closed(description, { ...needed, properties });
}

/** The same, but it may be left out whole, as all of its options have defaults. */
export function section<const Options extends object>(description: string, properties: Options) {
  return closed(description, { default: {}, properties });
}

function kind<const Kind extends object>(type: Kind) {
  return <const More extends object = object>(description: string, more?: More) =>
    ({ description, ...type, ...more }) as { readonly description: string } & Kind & More;
}
