import { fold } from '../wire/headers.ts';
import type { BodyCheck } from './body-schema/compile-schema.ts';
import { readFieldKinds } from './body-schema/field-kinds.ts';
import { checked, duration, size } from './checked.ts';
import type { BodyRule, Route, UpgradeRule, Version } from './config.ts';
import { createRebase } from './rebase.ts';
import { pathBelow } from './route-path.ts';
import type { RawBody, RawConfig, RawRoute, RawUpload } from './schema.ts';
import { answeredMethods, websocketDefaults } from './schema/routes.ts';
import type { FileRule } from './upload-rule.ts';

type RawFile = NonNullable<RawBody['file']>;

/** What a route is resolved with, besides its own text. */
interface RouteSurroundings {
  readonly raw: RawConfig;
  readonly versions: ReadonlyMap<string, Version>;
  readonly check: BodyCheck | undefined;
}

/** Turns a checked route into the one that requests take. */
export function resolveRoute(route: RawRoute, { raw, versions, check }: RouteSurroundings): Route {
  const { basePath: base, upstreams, limits } = raw;
  const path = pathBelow(base, route.path);
  const version = versions.get(route.path.split('/')[1] ?? '');
  const upstream = checked(route.upstream ?? version?.upstream);
  return {
    name: route.name ?? path,
    path,
    methods: [...answeredMethods(route.methods)],
    upstream,
    rebase: createRebase(route.path, base, upstreams[upstream]?.basePath ?? base),
    version,
    cost: route.cost,
    costHeader: route.costHeader === undefined ? undefined : fold(route.costHeader),
    body: resolveBody(route.body, check, limits.requestTimeout),
    upgrade: resolveUpgrade(route.upgrade),
  };
}

function resolveBody(body: RawRoute['body'], check: BodyCheck | undefined, requestTimeout: string): BodyRule {
  if (typeof body === 'string') return { kind: 'none' };
  const { json, upload, file, any } = body;
  if (json !== undefined) return resolveJson(json, check);
  if (upload !== undefined) return resolveForm(upload, check);
  return file === undefined ? resolveAny(checked(any), requestTimeout) : resolveFile(file);
}

function resolveJson(json: NonNullable<RawBody['json']>, check: BodyCheck | undefined): BodyRule {
  const { maxSize, maxDepth, maxValues, suffixed, onMismatch } = json;
  const bounds = { sizeMax: size(maxSize), depthMax: maxDepth, valuesMax: maxValues };
  return { kind: 'json', ...bounds, suffixed, schema: check && { check, onMismatch } };
}

function resolveAny(any: NonNullable<RawBody['any']>, requestTimeout: string): BodyRule {
  const { maxSize, minRate, timeout = requestTimeout } = any;
  const arrival = {
    timeoutMs: duration(timeout),
    bytesPerSecondMin: minRate === undefined ? 0 : size(minRate),
  };
  return { kind: 'any', sizeMax: size(maxSize), arrival };
}

function resolveForm(form: RawUpload, check: BodyCheck | undefined): BodyRule {
  const { maxCount, maxSize, names, schema, onMismatch } = form.fields;
  const upload = {
    kind: 'form',
    sizeMax: size(form.maxSize),
    files: new Map(
      Object.entries(form.files).map(([name, field]) => [name, resolveField(field, form.maxSize)]),
    ),
    fields: {
      countMax: maxCount,
      sizeMax: size(maxSize),
      names,
      schema: check && { check, onMismatch, kinds: readFieldKinds(checked(schema)) },
    },
    others: form.others,
    forward: form.forward,
  } as const;
  return { kind: 'upload', upload, arrival: arrivalOf(form) };
}

function resolveField(field: RawUpload['files'][string], formSize: string): FileRule {
  return {
    required: field.required,
    countMax: field.maxCount,
    sizeMax: size(field.maxSize ?? formSize),
    sizeMin: size(field.minSize),
    types: field.types,
    extensions: field.extensions,
    nameLengthMax: field.nameLength,
  };
}

function resolveFile(file: RawFile): BodyRule {
  const upload = {
    kind: 'file',
    sizeMax: size(file.maxSize),
    sizeMin: size(file.minSize),
    types: file.types,
    forward: file.forward,
  } as const;
  return { kind: 'upload', upload, arrival: arrivalOf(file) };
}

function arrivalOf({ minRate, timeout }: Pick<RawFile, 'minRate' | 'timeout'>) {
  return { timeoutMs: duration(timeout), bytesPerSecondMin: size(minRate) };
}

/** The rule for WebSockets; undefined where there are none. */
function resolveUpgrade(upgrade: RawRoute['upgrade']): UpgradeRule | undefined {
  if (upgrade === 'none') return undefined;
  const written = typeof upgrade === 'string' ? undefined : upgrade.websocket;
  const { idleTimeout, maxSockets } = written ?? websocketDefaults;
  return { idleMs: duration(idleTimeout), socketsMax: maxSockets };
}
