import { text } from './kinds.ts';

/** Stands beside a `schema`. */
export const onMismatch = text(
  'What becomes of what does not fit `schema`: refuse answers 400, report forwards it all the same, logged and counted, to try a schema on live traffic. report needs a `schema`.',
  { enum: ['refuse', 'report'], default: 'refuse' },
);

export type OnMismatch = (typeof onMismatch.enum)[number];
