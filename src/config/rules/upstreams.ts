import { addressOf, leadsTo } from '../addresses.ts';
import { areCertificates, notCertificates } from '../certificates.ts';
import { address, instant } from '../checked.ts';
import type { RawConfig } from '../schema.ts';
import { checkName, type Rule } from './draft.ts';

export const versionsNameUpstreams: Rule = (draft, report) => {
  for (const version of Object.values(draft.config.versions)) checkName(version, 'upstream', draft, report);
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

/**
 * A request would come back without its key, so that its caller would be told to send one. At the second listener health and metrics are
 * told to whoever comes from this machine, which may be meant.
 */
export const targetsAreOthers: Rule = ({ config }, report) => {
  const leadsToOurs = (holder: RawConfig | RawConfig['admin'], target: string): boolean =>
    !report.isBroken(holder, 'listen') && leadsTo(address(holder.listen), addressOf(new URL(target)));
  for (const upstream of Object.values(config.upstreams)) {
    if (report.isBroken(upstream, 'targets')) continue;
    const { targets } = upstream;
    for (const [at, target] of targets.entries()) {
      if (leadsToOurs(config, target))
        report.problem(targets, String(at), 'is the address of listen, so requests would come back here');
      if (leadsToOurs(config.admin, target)) {
        const why = 'is the address of admin.listen, so callers reach what is not for them';
        report.warning(targets, String(at), why);
      }
    }
  }
};

export const sunsetsAreInOrder: Rule = ({ config }, report) => {
  for (const version of Object.values(config.versions)) {
    const { deprecated, sunset, link, afterSunset } = version;
    if (deprecated !== undefined && sunset !== undefined && instant(sunset) < instant(deprecated)) {
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
