import * as bodies from './rules/bodies.ts';
import * as callers from './rules/callers.ts';
import type { Rule } from './rules/draft.ts';
import * as errors from './rules/errors.ts';
import * as limits from './rules/limits.ts';
import * as listeners from './rules/listeners.ts';
import * as plans from './rules/plans.ts';
import * as processRules from './rules/process.ts';
import * as routes from './rules/routes.ts';
import * as secrets from './rules/secrets.ts';
import * as uploads from './rules/uploads.ts';
import * as upstreams from './rules/upstreams.ts';

/** Everything that must hold between the fields of a configuration, beyond what the schema says about each. */
export const rules: readonly Rule[] = [
  listeners.listenersDiffer,
  listeners.adminIsGuarded,
  listeners.proxiesAreSome,
  callers.graceIsNotCutShort,
  listeners.tokensHaveOneSecret,
  listeners.tokensAreStrong,
  listeners.tokensAreDistinct,
  secrets.tokensAreNoKeys,
  callers.keysNamePlans,
  callers.keysHaveOneSecret,
  callers.keysAreDistinct,
  callers.keysAreStillValid,
  callers.secretsAreSecrets,
  secrets.secretsAreHardToGuess,
  plans.quotaNamesAreDistinct,
  plans.periodsStartWhereTheyCan,
  plans.zonesHaveSummers,
  plans.costsFitQuotas,
  upstreams.versionsNameUpstreams,
  upstreams.targetsAreDistinct,
  upstreams.targetsAreOthers,
  upstreams.sunsetsAreInOrder,
  upstreams.authoritiesAreCertificates,
  processRules.storeAuthoritiesAreThere,
  limits.headersAreBounded,
  limits.headersAreEnough,
  limits.clientsHaveTime,
  limits.keepAliveIsTold,
  processRules.drainFitsATimer,
  routes.routesHaveUpstreams,
  routes.routesAreDistinct,
  routes.routeNamesAreDistinct,
  routes.routeNamesAreFree,
  routes.usageHasItsOwnPath,
  routes.bodiesFitMemory,
  routes.jsonFitsAText,
  routes.upgradesTakeGet,
  routes.bodiesAreSent,
  routes.costHeadersCorrectACost,
  bodies.patternsAreQuick,
  uploads.filesFitBodies,
  uploads.requiredFilesFitForms,
  uploads.fieldsFitMemory,
  uploads.extensionsFitTypes,
  uploads.typesAreKnown,
  uploads.requiredFieldsAreTaken,
  uploads.fieldsAreTexts,
  uploads.fieldNamesAreNoFiles,
  uploads.uploadsFitSpool,
  errors.errorFieldsAreOthers,
  errors.errorNumbersAreExact,
  errors.errorsAreAnswered,
];
