import { duration, size } from '../checked.ts';
import { printSize } from '../units.ts';
import type { Rule } from './draft.ts';

const headerBytesMax = 1024 ** 2;

/** Every connection may make the gateway hold this much before anything is known of its client. */
export const headersAreBounded: Rule = ({ config: { limits } }, report) => {
  if (size(limits.headerSize) > headerBytesMax)
    report.problem(limits, 'headerSize', `is more than ${printSize(headerBytesMax)}`);
};

export const honestClientsAreServed: Rule = ({ config: { limits } }, report) => {
  const cuts = 'is less than 100ms and cuts honest clients on slow networks';
  const doubts = [
    ['headerSize', size(limits.headerSize) < 1024, 'is less than 1 KB and refuses what honest clients send'],
    // What `fetch` of Node sends with a JSON body. With one line there is no room for a key beside the Host.
    ['headerCount', limits.headerCount < 10, 'is less than 10 and refuses what honest clients send'],
    ['headerTimeout', duration(limits.headerTimeout) < 100, cuts],
    ['requestTimeout', duration(limits.requestTimeout) < 100, cuts],
    ['stalledReader', duration(limits.stalledReader) < 100, cuts],
    [
      'keepAlive',
      duration(limits.keepAlive) < 1000,
      'is less than 1s, so clients are told Keep-Alive: timeout=0 and connect again for each request',
    ],
  ] as const;
  for (const [option, isDoubtful, why] of doubts) if (isDoubtful) report.warning(limits, option, why);
};
