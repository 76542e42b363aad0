import { areCertificates, notCertificates, readAuthorities } from '../certificates.ts';
import { parseInstant } from '../instants.ts';
import { parseStoreAddress } from '../parse-store-address.ts';
import { UnusableText } from '../read-text.ts';
import { durationMsMax, printSize } from '../units.ts';
import { durationOrZero, sizeOrZero } from './amounts.ts';
import { noSuch, type Rule } from './draft.ts';

const headerBytesMax = 1024 ** 2;
const headerBytesMin = 1024;
const patienceMsMin = 100;

export const versionsNameUpstreams: Rule = ({ config, declared }, report) => {
  const { upstreams } = declared;
  if (upstreams === undefined) return;
  for (const version of Object.values(config.versions)) {
    if (upstreams.includes(version.upstream)) continue;
    const name = { text: version.upstream, hidden: report.isHidden(version, 'upstream') };
    report.problem(version, 'upstream', noSuch('upstream', name, upstreams));
  }
};

/** One written in two ways would get twice its share. */
export const targetsAreDistinct: Rule = ({ config }, report) => {
  for (const upstream of Object.values(config.upstreams)) {
    if (report.isBroken(upstream, 'targets')) continue;
    const { targets } = upstream;
    const origins = targets.map((target) => new URL(target).origin);
    for (const [at, origin] of origins.entries()) {
      const first = origins.indexOf(origin);
      if (first < at) report.problem(targets, String(at), `is the origin of [${first}] too`);
    }
  }
};

export const sunsetsAreInOrder: Rule = ({ config }, report) => {
  for (const version of Object.values(config.versions)) {
    const { deprecated, sunset, link, afterSunset } = version;
    if (
      deprecated !== undefined &&
      sunset !== undefined &&
      (parseInstant(sunset) ?? 0) < (parseInstant(deprecated) ?? 0)
    ) {
      report.problem(version, 'sunset', 'is before deprecated');
    }
    const hasSunset = sunset !== undefined || report.isBroken(version, 'sunset');
    const hasDate = hasSunset || deprecated !== undefined || report.isBroken(version, 'deprecated');
    if (afterSunset === 'gone' && !hasSunset)
      report.problem(version, 'afterSunset', 'gone needs a sunset date');
    if (link !== undefined && !hasDate) {
      report.problem(version, 'link', 'is sent only with a date, give deprecated or sunset');
    }
  }
};

export const authoritiesAreCertificates: Rule = ({ config }, report) => {
  for (const upstream of Object.values(config.upstreams)) {
    if (upstream.ca === undefined) continue;
    if (
      !report.isBroken(upstream, 'targets') &&
      !upstream.targets.some((target) => target.startsWith('https:'))
    ) {
      report.problem(upstream, 'ca', 'is for https targets, and there is none');
    }
    if (areCertificates(upstream.ca)) continue;
    const cure = /^\.{0,2}\//.test(upstream.ca) ? ', for a file write ${file:/path}' : '';
    report.problem(upstream, 'ca', `${notCertificates}${cure}`);
  }
};

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

/** Every connection may make the gateway hold this much before anything is known of its client. */
export const headersAreBounded: Rule = ({ config: { limits } }, report) => {
  if (report.isBroken(limits, 'headerSize')) return;
  const bytes = sizeOrZero(limits.headerSize);
  if (bytes > headerBytesMax) {
    report.problem(limits, 'headerSize', `is more than ${printSize(headerBytesMax)}`);
  } else if (bytes < headerBytesMin) {
    const least = printSize(headerBytesMin);
    report.warning(limits, 'headerSize', `is less than ${least} and refuses what honest clients send`);
  }
};

export const clientsHaveTime: Rule = ({ config: { limits } }, report) => {
  for (const option of ['headerTimeout', 'requestTimeout', 'stalledReader'] as const) {
    if (report.isBroken(limits, option) || durationOrZero(limits[option]) >= patienceMsMin) continue;
    report.warning(
      limits,
      option,
      `is less than ${patienceMsMin}ms and cuts honest clients on slow networks`,
    );
  }
};

/** Clients are told whole seconds. */
export const keepAliveIsTold: Rule = ({ config: { limits } }, report) => {
  if (report.isBroken(limits, 'keepAlive') || durationOrZero(limits.keepAlive) >= 1000) return;
  report.warning(
    limits,
    'keepAlive',
    'is less than 1s, so clients are told Keep-Alive: timeout=0 and connect again for each request',
  );
};

/** One timer waits for both. */
export const drainFitsATimer: Rule = ({ config: { drain } }, report) => {
  if (report.isBroken(drain, 'delay', 'timeout')) return;
  const bothMs = durationOrZero(drain.delay) + durationOrZero(drain.timeout);
  if (bothMs > durationMsMax) report.problem(drain, 'timeout', 'and delay together are longer than 24d');
};
