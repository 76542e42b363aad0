/** Follows the quotes of one record of CSV (RFC 4180), however it is cut into pieces. */
export class Quotes {
  #state: State = 'start';

  /** Open within a quoted cell; torn if one goes on after its last quote, so that where the record ends cannot be known. */
  get state(): 'closed' | 'open' | 'torn' {
    if (this.#state === 'quoted') return 'open';
    return this.#state === 'torn' ? 'torn' : 'closed';
  }

  take(piece: string): void {
    if (piece.includes('"') || this.#state === 'afterQuote' || this.#state === 'return') {
      for (const character of piece) this.#state = next(this.#state, character);
    } else if (piece !== '' && (this.#state === 'start' || this.#state === 'plain')) {
      // Without a quote only its end counts; within a quoted cell nothing does.
      this.#state = piece.endsWith(',') ? 'start' : 'plain';
    }
  }
}

type State = 'start' | 'plain' | 'quoted' | 'afterQuote' | 'return' | 'torn';

function next(state: State, character: string): State {
  if (state === 'quoted') return character === '"' ? 'afterQuote' : 'quoted';
  if (state === 'afterQuote') return afterQuote(character);
  if (state === 'return' || state === 'torn') return 'torn';
  if (character === ',') return 'start';
  // In the middle of a cell a quote is a character like any other.
  return state === 'start' && character === '"' ? 'quoted' : 'plain';
}

/** After a quote that ends a cell or is the first of two. The end of the line may be CRLF. */
function afterQuote(character: string): State {
  if (character === '"') return 'quoted';
  if (character === ',') return 'start';
  return character === '\r' ? 'return' : 'torn';
}
