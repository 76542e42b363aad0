import { isObject } from '../../content/is-object.ts';
import { slownessOf, type Slowness } from '../body-schema/patterns/slow-pattern.ts';
import { subschemas } from '../body-schema/subschemas.ts';
import { size } from '../checked.ts';
import { bufferedBytesMax, fieldsHeldMax } from '../held-bytes.ts';
import { printSize } from '../units.ts';
import { showText } from '../wording.ts';
import { bodiesOf, type Rule } from './draft.ts';

/** Up to this length even a pattern that doubles its time with each character ends within milliseconds. */
const doublingLengthMax = 16;
/** The same for a pattern whose time grows with the square of the length. */
const growingLengthMax = 1000;

/** What is read as JSON is one text, and Node makes none of 512 MB. */
const jsonBytesMax = 511 * 1024 ** 2;

/** A body schema's pattern runs on texts that clients choose, and nothing else is answered meanwhile. */
export const patternsAreQuick: Rule = ({ config }, report) => {
  for (const { json, upload } of bodiesOf(config)) {
    const texts = json ?? upload?.fields;
    if (texts === undefined) continue;
    const sizeMax = size(texts.maxSize);
    for (const { schema } of subschemas(texts.schema)) {
      const { pattern, patternProperties, propertyNames, maxLength } = schema;
      if (typeof pattern === 'string') {
        const fault = faultOf(pattern, maxLength, sizeMax);
        if (fault)
          report.warning(schema, 'pattern', `${fault.why}, or set maxLength to ${fault.lengthMax} or less`);
      }
      if (!isObject(patternProperties)) continue;
      const nameLengthMax = isObject(propertyNames) ? propertyNames['maxLength'] : undefined;
      for (const key of Object.keys(patternProperties)) {
        const fault = faultOf(key, nameLengthMax, sizeMax);
        if (fault)
          report.warning(
            patternProperties,
            key,
            `${fault.why}, or set propertyNames: { maxLength: ${fault.lengthMax} }`,
          );
      }
    }
  }
};

/** A schema that refuses nobody is easily forgotten. */
export const schemasRefuse: Rule = ({ config }, report) => {
  for (const { json, upload } of bodiesOf(config)) {
    const checked = json ?? upload?.fields;
    if (checked?.onMismatch !== 'report') continue;
    if (checked.schema !== undefined)
      report.warning(checked, 'onMismatch', 'what does not fit the schema is forwarded all the same');
    else if (!report.isBroken(checked, 'schema'))
      report.problem(checked, 'onMismatch', 'report needs a schema');
  }
};

/** A body larger than all of it never finds room, however often its client tries again. */
export const bodiesFitMemory: Rule = ({ config }, report) => {
  if (report.isBroken(config.limits, 'bodyMemory')) return;
  const most = size(config.limits.bodyMemory);
  for (const { json, any, upload } of bodiesOf(config)) {
    if (json !== undefined && size(json.maxSize) > most)
      report.problem(json, 'maxSize', 'is more than limits.bodyMemory');
    if (any !== undefined && Math.min(size(any.maxSize), bufferedBytesMax) > most)
      report.problem(any, 'maxSize', 'is more than limits.bodyMemory, which must hold its first 64 KB');
    if (upload === undefined) continue;
    const { fields } = upload;
    const texts = fieldsHeldMax(
      { countMax: fields.maxCount, sizeMax: size(fields.maxSize) },
      size(upload.maxSize),
    );
    if (texts > most)
      report.problem(upload, 'fields', `may hold ${printSize(texts)}, more than limits.bodyMemory`);
  }
};

/** Longer ones would be answered as a fault of the gateway. */
export const jsonFitsAText: Rule = ({ config }, report) => {
  for (const { json } of bodiesOf(config)) {
    if (json !== undefined && size(json.maxSize) > jsonBytesMax)
      report.problem(json, 'maxSize', `is more than ${printSize(jsonBytesMax)}`);
  }
};

/** What is checked has to be there: without a body a request is refused, and a handshake never has one. */
export const bodiesAreSent: Rule = ({ config: { routes } }, report) => {
  for (const route of routes) {
    if (typeof route.body === 'string' || route.body.any !== undefined) continue;
    if (route.upgrade !== 'none')
      report.problem(route, 'upgrade', 'begins without a body, which is refused here: give it its own route');
    else if (route.methods.includes('GET') || route.methods.includes('HEAD'))
      report.warning(
        route,
        'methods',
        'takes GET and HEAD only with a body, which most clients do not send: give them their own route',
      );
  }
};

/** Why a pattern is slow on texts of that `maxLength`, if the schema gives one, and one that keeps it quick. */
function faultOf(
  pattern: string,
  maxLength: unknown,
  sizeMax: number,
): { readonly why: string; readonly lengthMax: number } | undefined {
  const slowness = slownessOf(pattern);
  if (slowness === undefined) return undefined;
  const isGrowing = slowness.kind === 'dividing' || slowness.kind === 'searching';
  const lengthMax = isGrowing ? growingLengthMax : doublingLengthMax;
  const textLength = typeof maxLength === 'number' ? Math.min(maxLength, sizeMax) : sizeMax;
  return textLength <= lengthMax
    ? undefined
    : { why: `${showText(pattern)} ${reasonOf(slowness)}`, lengthMax };
}

const hold = 'a hostile text can make it hold up every request';

function reasonOf(slowness: Slowness): string {
  if (slowness.kind === 'doubling')
    return `can read what its ${showText(slowness.at)} repeats in ever more ways, and ${hold}: let each character fit in one way`;
  if (slowness.kind === 'dividing')
    return `can divide a text anywhere between its ${slowness.at.map(showText).join(' and ')}, and ${hold} for seconds: let the two share no character`;
  if (slowness.kind === 'searching')
    return `searches for its ${showText(slowness.at)} again from each character, and ${hold} for seconds: begin it with "^"`;
  return `is too large to tell whether ${hold}: make it smaller`;
}
