/** The terminal of somebody who may be watching. */
export type Watched = Pick<NodeJS.WriteStream, 'isTTY' | 'columns' | 'write'>;

/** Shows what is under way, or nothing when that is over. */
export type Progress = (text: string) => void;

/**
 * One line that is overwritten, and never wrapped: of a wrapped line all but the end would stay. It is empty when the process ends,
 * as by Ctrl-C, for the prompt.
 */
export function createProgress(watched: Watched): Progress {
  if (!watched.isTTY) return () => undefined;
  const show: Progress = (text) =>
    void watched.write(`\r\u001B[K${text.slice(0, (watched.columns || 80) - 1)}`);
  process.once('exit', () => show(''));
  return show;
}
