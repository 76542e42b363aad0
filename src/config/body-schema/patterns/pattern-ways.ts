import type { PatternTree } from './pattern-tree.ts';

/** In how many ways a part of a pattern can read a text, at most: only its counts and its alternatives differ. */
export function waysThrough(part: PatternTree): number {
  switch (part.kind) {
    case 'sequence':
      return part.parts.reduce((product, each) => product * waysThrough(each), 1);
    case 'choice':
      return part.parts.reduce((sum, each) => sum + waysThrough(each), 0);
    case 'repeat': {
      const most = Math.min(part.most, part.least + enough);
      const ways = waysThrough(part.part);
      return ways === 1 ? most - part.least + 1 : Math.min(ways ** most, Number.MAX_VALUE);
    }
    case 'character':
    case 'place':
    case 'look':
    default:
      return 1;
  }
}

/** Endless or not, this many rounds over the least are enough. */
const enough = 20;
