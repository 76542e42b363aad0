/** What holds other values in JSON and YAML. */
export type Container = unknown[] | Readonly<Record<string, unknown>>;

export function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null;
}

/** A value as JSON and YAML have it that is an object, and no array. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return isContainer(value) && !Array.isArray(value);
}
