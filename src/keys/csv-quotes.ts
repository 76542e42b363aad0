/** Follows the quotes of one record of CSV (RFC 4180), however it is cut into pieces. */
export interface Quotes {
  take(piece: string): void;
  /**
   * Whether what was taken ends within a quoted cell, or holds one that goes on after its last quote: where such a record ends
   * cannot be known.
   */
  state(): 'closed' | 'open' | 'torn';
}

type Place = 'start' | 'plain' | 'quoted' | 'behind' | 'return' | 'torn';

/** Follows a record from its beginning. */
export function createQuotes(): Quotes {
  let place: Place = 'start';
  return {
    take(piece) {
      if (piece.includes('"') || place === 'behind' || place === 'return') {
        for (const character of piece) place = next(place, character);
      } else if (piece !== '' && (place === 'start' || place === 'plain')) {
        place = piece.endsWith(',') ? 'start' : 'plain';
      }
    },
    state() {
      if (place === 'quoted') return 'open';
      return place === 'torn' ? 'torn' : 'closed';
    },
  };
}

function next(place: Place, character: string): Place {
  if (place === 'quoted') return character === '"' ? 'behind' : 'quoted';
  if (place === 'behind') return behind(character);
  if (place === 'return' || place === 'torn') return 'torn';
  if (character === ',') return 'start';
  // In the middle of a cell a quote is a character like any other.
  return place === 'start' && character === '"' ? 'quoted' : 'plain';
}

/** After a quote that ends a cell or is the first of two. The end of the line may be CRLF. */
function behind(character: string): Place {
  if (character === '"') return 'quoted';
  if (character === ',') return 'start';
  return character === '\r' ? 'return' : 'torn';
}
