import { duration, size } from '../checked.ts';
import { printSize } from '../units.ts';
import type { Rule } from './draft.ts';

const headerBytesMax = 1024 ** 2;
const headerBytesMin = 1024;
/** What `fetch` of Node sends with a JSON body. With one line there is no room for a key beside the Host. */
const headerCountMin = 10;
const patienceMsMin = 100;

/** Every connection may make the gateway hold this much before anything is known of its client. */
export const headersAreBounded: Rule = ({ config: { limits } }, report) => {
  const bytes = size(limits.headerSize);
  if (bytes > headerBytesMax) {
    report.problem(limits, 'headerSize', `is more than ${printSize(headerBytesMax)}`);
  } else if (bytes < headerBytesMin) {
    report.warning(limits, 'headerSize', tooLittle(printSize(headerBytesMin)));
  }
};

export const headersAreEnough: Rule = ({ config: { limits } }, report) => {
  if (limits.headerCount >= headerCountMin) return;
  report.warning(limits, 'headerCount', tooLittle(headerCountMin));
};

function tooLittle(least: string | number): string {
  return `is less than ${least} and refuses what honest clients send`;
}

export const clientsHaveTime: Rule = ({ config: { limits } }, report) => {
  for (const option of ['headerTimeout', 'requestTimeout', 'stalledReader'] as const) {
    if (duration(limits[option]) >= patienceMsMin) continue;
    report.warning(
      limits,
      option,
      `is less than ${patienceMsMin}ms and cuts honest clients on slow networks`,
    );
  }
};

/** Clients are told whole seconds. */
export const keepAliveIsTold: Rule = ({ config: { limits } }, report) => {
  if (duration(limits.keepAlive) >= 1000) return;
  report.warning(
    limits,
    'keepAlive',
    'is less than 1s, so clients are told Keep-Alive: timeout=0 and connect again for each request',
  );
};
