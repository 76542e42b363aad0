/** A value that holds others in JSON and YAML. */
export type Container = unknown[] | Readonly<Record<string, unknown>>;

export function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null;
}

/** Whether a JSON or YAML value is an object and not an array. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return isContainer(value) && !Array.isArray(value);
}
