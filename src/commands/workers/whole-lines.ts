/** Takes text in pieces, and passes its lines on once they are whole. */
export function wholeLines(handOn: (lines: string) => void): (piece: string) => void {
  let rest = '';
  return function take(piece) {
    const end = piece.lastIndexOf('\n') + 1;
    if (end === 0) {
      rest += piece;
      return;
    }
    handOn(rest + piece.slice(0, end));
    rest = piece.slice(end);
  };
}
