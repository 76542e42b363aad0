/** Lines in which the cells of each column stand below each other. */
export function columns(rows: readonly (readonly string[])[]): readonly string[] {
  const width = (at: number) => Math.max(...rows.map((row) => row[at]?.length ?? 0));
  return rows.map((row) => `  ${row.map((cell, at) => cell.padEnd(width(at))).join('  ')}`.trimEnd());
}
