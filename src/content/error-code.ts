/** What the system, Node or we call an error, such as ENOENT; undefined when it has no such name. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
