import { rivalsOf } from '../rivals.ts';
import { noRoute, usageRoute } from '../route-names.ts';
import { commonPath, compareSegments, pathBelow, segmentsOf } from '../route-path.ts';
import { checkDistinct, checkName, noSuch, type Rule } from './draft.ts';

export const routesHaveUpstreams: Rule = (draft, report) => {
  const { config, declared } = draft;
  for (const route of config.routes) {
    if (report.isBroken(route, 'upstream')) continue;
    const [first] = segmentsOf(route.path);
    const version = first?.kind === 'literal' ? first.text : undefined;
    if (route.upstream !== undefined) {
      checkName(route, 'upstream', draft, report);
    } else if (version === undefined) {
      report.problem(route, 'path', 'does not start with a version, so the route needs its own upstream');
    } else if (declared.versions?.includes(version) === false) {
      const shown = report.isHidden(route, 'path') ? undefined : version;
      const { versions } = declared;
      const cure =
        versions.length === 0
          ? ', so the route needs its own upstream'
          : ' (or give the route its own upstream)';
      report.problem(route, 'path', () => `${noSuch('version', shown, versions)}${cure}`);
    }
  }
};

export const routesAreDistinct: Rule = ({ config }, report) => {
  for (const [{ route, segments, methods }, other] of rivalsOf(config.routes)) {
    // A path is matched before its method, so even routes for different methods would compete for it.
    if (compareSegments(segments, other.segments) === 'ambiguous') {
      const isHidden = [route, other.route].some((one) => report.isHidden(one, 'path'));
      const both = isHidden ? '' : `: ${commonPath(segments, other.segments)} fits both`;
      report.problem(route, 'path', `overlaps ambiguously with ${report.mention(other.route)}${both}`);
    } else {
      const common = [...methods.intersection(other.methods)].join(', ');
      report.problem(route, 'path', `is the path of ${report.mention(other.route)} too, for ${common}`);
    }
  }
};

export const routeNamesAreDistinct: Rule = ({ config }, report) =>
  checkDistinct(config.routes, 'name', report);

/** Some names mean something else. */
export const routeNamesAreFree: Rule = ({ config: { basePath, routes, usage } }, report) => {
  for (const route of routes) {
    if (route.name === noRoute)
      report.problem(route, 'name', 'is what metrics call a request that found no route: choose another');
    if (route.name === usageRoute && usage !== undefined)
      report.problem(route, 'name', 'is what logs and metrics call usage.path: choose another');
    // A scope that begins so is a pattern of paths: it would not mean this route.
    if (route.name?.startsWith('/') === true && route.name !== pathBelow(basePath, route.path))
      report.problem(route, 'name', 'begins with "/", as only a path does: leave it out, or choose another');
  }
};

export const usageHasItsOwnPath: Rule = ({ config: { usage, routes } }, report) => {
  if (usage === undefined) return;
  const same = routes.find(({ path }) => path === usage.path);
  if (same !== undefined) report.problem(usage, 'path', `is the path of ${report.mention(same)} too`);
};

export const upgradesTakeGet: Rule = ({ config: { routes } }, report) => {
  for (const route of routes) {
    if (route.upgrade === 'none' || report.isBroken(route, 'methods') || route.methods.includes('GET'))
      continue;
    report.problem(route, 'upgrade', 'needs the method GET, which every WebSocket begins with');
  }
};

export const costHeadersCorrectACost: Rule = ({ config: { routes } }, report) => {
  for (const route of routes) {
    if (route.costHeader === undefined || route.cost > 0) continue;
    report.problem(route, 'costHeader', 'corrects a cost, and this route has none: give a cost of 1 or more');
  }
};
