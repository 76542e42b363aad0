import { readAuthorities } from '../certificates.ts';
import { parseStoreAddress } from '../parse-store-address.ts';
import { UnusableText } from '../read-text.ts';
import { durationMsMax } from '../units.ts';
import { durationOrZero } from './amounts.ts';
import type { Rule } from './draft.ts';

/** Without them no connection to the store would be trusted, and the gateway would not start. */
export const storeAuthoritiesAreThere: Rule = ({ config }, report) => {
  if (report.isBroken(config, 'store')) return;
  const address = parseStoreAddress(config.store);
  const caFile = address.kind === 'redis' ? address.tls?.caFile : undefined;
  if (caFile === undefined) return;
  try {
    readAuthorities(caFile);
  } catch (error) {
    if (!(error instanceof UnusableText)) throw error;
    const file = report.isHidden(config, 'store') ? 'the file' : `the file ${caFile}`;
    report.problem(config, 'store', `${file} of its ca ${error.message}`);
  }
};

/** One timer waits for both. */
export const drainFitsATimer: Rule = ({ config: { drain } }, report) => {
  if (report.isBroken(drain, 'delay', 'timeout')) return;
  const bothMs = durationOrZero(drain.delay) + durationOrZero(drain.timeout);
  if (bothMs > durationMsMax) report.problem(drain, 'timeout', 'and delay together are longer than 24d');
};
