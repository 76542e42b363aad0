import * as bodies from './rules/bodies.ts';
import * as callers from './rules/callers.ts';
import type { Rule } from './rules/draft.ts';
import * as errors from './rules/errors.ts';
import * as plans from './rules/plans.ts';
import * as routes from './rules/routes.ts';
import * as services from './rules/services.ts';
import * as uploads from './rules/uploads.ts';

/** Everything that must hold between the fields of a configuration, beyond what the schema says about each. */
export const rules: readonly Rule[] = [
  callers.listenersDiffer,
  callers.adminIsGuarded,
  callers.graceIsNotCutShort,
  callers.tokensHaveOneSecret,
  callers.tokensAreDistinct,
  callers.tokensAreNoKeys,
  callers.keysNamePlans,
  callers.keysHaveOneSecret,
  callers.keysAreDistinct,
  callers.keysAreStillValid,
  callers.secretsAreNoVariables,
  callers.secretsAreHardToGuess,
  plans.quotaNamesAreDistinct,
  plans.periodsStartWhereTheyCan,
  plans.costsFitQuotas,
  services.versionsNameUpstreams,
  services.targetsAreDistinct,
  services.sunsetsAreInOrder,
  services.authoritiesAreCertificates,
  services.storeAuthoritiesAreThere,
  services.headersAreBounded,
  services.clientsHaveTime,
  services.keepAliveIsTold,
  services.drainFitsATimer,
  routes.routesHaveUpstreams,
  routes.routesAreDistinct,
  routes.routeNamesAreDistinct,
  routes.routeNamesAreFree,
  routes.usageHasItsOwnPath,
  routes.bodiesFitMemory,
  routes.upgradesTakeGet,
  routes.costHeadersCorrectACost,
  bodies.patternsAreQuick,
  uploads.filesFitBodies,
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
