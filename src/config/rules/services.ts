import { areCertificates } from '../certificates.ts';
import { parseInstant } from '../instants.ts';
import { durationMsMax, parseDuration, parseSize, printSize } from '../units.ts';
import { noSuch } from './draft.ts';
import type { Rule } from './draft.ts';

const headerBytesMax = 1024 ** 2;
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

/** One that is written in two ways would get twice its share. */
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
    if (report.isBroken(version, 'deprecated', 'sunset')) continue;
    const { deprecated, sunset, link, afterSunset } = version;
    if (
      deprecated !== undefined &&
      sunset !== undefined &&
      (parseInstant(sunset) ?? 0) < (parseInstant(deprecated) ?? 0)
    ) {
      report.problem(version, 'sunset', 'is before deprecated');
    }
    if (afterSunset === 'gone' && sunset === undefined)
      report.problem(version, 'afterSunset', 'gone needs a sunset date');
    if (link !== undefined && deprecated === undefined && sunset === undefined) {
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
    if (!areCertificates(upstream.ca)) {
      report.problem(upstream, 'ca', 'is not PEM certificates (-----BEGIN CERTIFICATE-----)');
    }
  }
};

/** Every connection may make the gateway hold that much before anything is known of its client. */
export const headersAreBounded: Rule = ({ config: { limits } }, report) => {
  if ((parseSize(limits.headerSize) ?? 0) > headerBytesMax)
    report.problem(limits, 'headerSize', `is more than ${printSize(headerBytesMax)}`);
};

export const clientsHaveTime: Rule = ({ config: { limits } }, report) => {
  for (const option of ['headerTimeout', 'requestTimeout', 'keepAlive', 'stalledReader'] as const) {
    if (report.isBroken(limits, option) || (parseDuration(limits[option]) ?? 0) >= patienceMsMin) continue;
    report.warning(
      limits,
      option,
      `is less than ${patienceMsMin}ms and cuts honest clients on slow networks`,
    );
  }
};

/** One timer waits for both. */
export const drainFitsATimer: Rule = ({ config: { drain } }, report) => {
  if (report.isBroken(drain, 'delay', 'timeout')) return;
  const bothMs = (parseDuration(drain.delay) ?? 0) + (parseDuration(drain.timeout) ?? 0);
  if (bothMs > durationMsMax) report.problem(drain, 'timeout', 'and delay together are longer than 24d');
};
