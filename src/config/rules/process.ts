import { readAuthorities } from '../certificates.ts';
import { duration } from '../checked.ts';
import { parseStoreAddress } from '../parse-store-address.ts';
import { UnusableText } from '../read-text.ts';
import { durationMsMax } from '../units.ts';
import type { Rule } from './draft.ts';

/** Without them no connection to the store would be trusted, and the gateway would not start. */
export const storeAuthoritiesAreThere: Rule = ({ config }, report) => {
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
  const bothMs = duration(drain.delay) + duration(drain.timeout);
  if (bothMs > durationMsMax) report.problem(drain, 'timeout', 'and delay together are longer than 24d');
};
