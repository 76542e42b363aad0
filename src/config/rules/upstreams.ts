import { addressOf, leadsTo } from '../addresses.ts';
import { areCertificates, notCertificates } from '../certificates.ts';
import { address, instant } from '../checked.ts';
import type { RawConfig } from '../schema.ts';
import { checkName, type Report, type Rule } from './draft.ts';

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

/** A request would come back without its key, so that its caller would be told to send one. */
export const targetsAreOthers: Rule = ({ config }, report) => {
  if (report.isBroken(config, 'listen')) return;
  for (const [targets, at] of targetsAt(config.listen, config, report))
    report.problem(targets, at, 'is the address of listen, so requests would come back here');
};

/** There health and metrics are told to whoever comes from this machine, which may be meant. */
export const targetsAreNotAdmin: Rule = ({ config }, report) => {
  if (report.isBroken(config.admin, 'listen')) return;
  for (const [targets, at] of targetsAt(config.admin.listen, config, report))
    report.warning(targets, at, 'is the address of admin.listen, so callers reach what is not for them');
};

/** The targets that lead to a listener of ours, by their places in their lists. */
function* targetsAt(
  listen: string | number,
  { upstreams }: RawConfig,
  report: Report,
): Iterable<readonly [readonly string[], string]> {
  const listener = address(listen);
  for (const upstream of Object.values(upstreams)) {
    if (report.isBroken(upstream, 'targets')) continue;
    for (const [at, target] of upstream.targets.entries()) {
      if (leadsTo(listener, addressOf(new URL(target)))) yield [upstream.targets, String(at)];
    }
  }
}

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
