/** Follows the quotes of one record of CSV (RFC 4180), however it is cut into pieces. */
interface Quotes {
  take(piece: string): void;
  /**
   * Whether what was taken ends within a quoted cell, or holds one that goes on after its last quote: where such a record ends
   * cannot be known.
   */
  state(): 'closed' | 'open' | 'torn';
}

type State = 'start' | 'plain' | 'quoted' | 'afterQuote' | 'return' | 'torn';

/** Follows a record from its beginning. */
export function createQuotes(): Quotes {
  let state: State = 'start';
  return {
    take(piece) {
      if (piece.includes('"') || state === 'afterQuote' || state === 'return') {
        for (const character of piece) state = next(state, character);
      } else if (piece !== '' && (state === 'start' || state === 'plain')) {
        // Without a quote only its end counts; within a quoted cell nothing does.
        state = piece.endsWith(',') ? 'start' : 'plain';
      }
    },
    state() {
      if (state === 'quoted') return 'open';
      return state === 'torn' ? 'torn' : 'closed';
    },
  };
}

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
