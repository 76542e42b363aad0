import { limitDefault, limitMax } from '../../keys/key-pages.ts';

/** The parameters of operations that answer page by page. */
export const pageQuery = {
  cursor: { description: 'Go on where a page ended: its `next`.', type: 'string', maxLength: 128 },
  limit: {
    description: 'How many at most.',
    type: 'integer',
    minimum: 1,
    maximum: limitMax,
    default: limitDefault,
  },
} as const;
