import { readFileSync, writeFileSync } from 'node:fs';
import { Registry } from 'prom-client';
import { operations } from '../src/admin/operations.ts';
import { schema } from '../src/config/schema.ts';
import { isObject } from '../src/content/is-object.ts';
import { createGatewayMetrics } from '../src/telemetry/metrics.ts';

type Part = Readonly<Record<string, unknown>>;

/** The tables that are made from the code, by the page and the name of the place in it where they stand. */
const pages: Readonly<Record<string, Readonly<Record<string, () => string>>>> = {
  'docs/admin-api.md': { operations: operationsTable },
  'docs/metrics.md': { metrics: metricsTable },
  'docs/options.md': { options: optionsTable },
};

/** The pages that hold made tables, by their paths from the root. */
export const madePages = Object.keys(pages);

/** The text of a page with every made table renewed. A place that is missing is an error: its table would silently be gone. */
export function renewTables(page: string, text: string): string {
  let renewed = text;
  for (const [name, make] of Object.entries(pages[page] ?? {})) {
    const place = new RegExp(`(<!-- ${name}: npm run docs -->\n).*?(<!-- end -->)`, 's');
    if (!place.test(renewed)) throw new Error(`${page} has no place for the table of ${name}`);
    renewed = renewed.replace(place, (_all, begin: string, end: string) => `${begin}\n${make()}\n\n${end}`);
  }
  return renewed;
}

/** One row per option of the configuration that holds a value, in the order of the schema. */
function optionsTable(): string {
  const rows = [...optionsOf(schema, '', false)];
  return table([['option', 'written as', 'default', 'what it does'], ...rows]);
}

/** One row per metric of our own; those that every Node process has are left out. */
function metricsTable(): string {
  const rows = metricsIn(new Registry()).map(({ name, type, labels, help }) => [
    code(name),
    type,
    labels.map(code).join(', '),
    help,
  ]);
  return table([['metric', 'type', 'labels', 'what it counts'], ...rows]);
}

/** Every metric that `/metrics` has, beside those that the registry begins with. */
export function metricsIn(registry: Registry) {
  const metrics = createGatewayMetrics(undefined, registry);
  metrics.showHealth(() => []);
  metrics.showReadiness(async () => true);
  metrics.showLostLines(() => 0);
  metrics.showBodyMemory({ taken: 0, max: 0 });
  metrics.showSpool({ memoryBytes: () => 0, memoryMax: 0, diskBytes: () => 0, diskMax: 0 });
  metrics.showLeases(() => ({ leases: 0, owingKeys: 0, waitingSteps: 0, droppedSteps: 0 }));
  return registry.getMetricsAsArray().map((metric) => ({
    name: metric.name,
    type: String(metric.type),
    labels: 'labelNames' in metric && Array.isArray(metric.labelNames) ? metric.labelNames.map(String) : [],
    help: metric.help,
  }));
}

/** One row per operation of the admin API. */
function operationsTable(): string {
  const rows = operations.map(({ method, path, role, id, summary }) => [
    code(`${method} ${path}`),
    code(id),
    role,
    summary,
  ]);
  return table([['request', 'operation', 'role', 'what it does'], ...rows]);
}

function* optionsOf(part: Part, path: string, required: boolean): Generator<readonly string[]> {
  const inner = innerOf(part, path);
  const holdsValue = inner.length === 0 || Array.isArray(part['type']);
  if (holdsValue) yield [code(path), writtenAs(part), defaultOf(part, required), String(part['description'])];
  const wanted = Array.isArray(part['required']) ? part['required'] : [];
  for (const [name, below, at] of inner) yield* optionsOf(below, at, wanted.includes(name));
}

function innerOf({ properties, additionalProperties, propertyNames, items }: Part, path: string) {
  const inner: (readonly [name: string, part: Part, path: string])[] = [];
  if (isObject(properties)) {
    for (const [name, part] of Object.entries(properties)) {
      if (isObject(part)) inner.push([name, part, path === '' ? name : `${path}.${name}`]);
    }
  }
  if (isObject(additionalProperties)) {
    const name = isObject(propertyNames) && Array.isArray(propertyNames['enum']) ? '<code>' : '<name>';
    inner.push([name, additionalProperties, `${path}.${name}`]);
  }
  if (isObject(items) && isObject(items['properties'])) inner.push(['[]', items, `${path}[]`]);
  return inner;
}

/** How a value looks in the YAML, where its type alone does not tell. */
const forms: Readonly<Record<string, string>> = {
  address: 'address',
  anchor: 'weekday, day or `mm-dd`',
  'base-path': 'path',
  'cost-header': 'header name',
  digest: '`sha256:…`',
  duration: 'duration',
  'duration-or-zero': 'duration',
  'header-name': 'header name',
  health: 'path, or the next',
  'health-path': 'path',
  host: 'host',
  instant: 'date',
  link: 'URL',
  name: 'name',
  network: 'address or CIDR',
  none: '`none`, or one of the next',
  origin: 'origin',
  path: 'path',
  percent: '`1%` to `100%`',
  'quota-name': 'name',
  size: 'size',
  store: 'store',
  time: '`hh:mm`',
  timezone: 'time zone',
  upgrade: '`none` `websocket`, or the next',
  visible: 'text',
  workers: 'whole number or `auto`',
};

function writtenAs({ type, format, enum: words, items }: Part): string {
  if (Array.isArray(words)) return words.map((word) => code(String(word))).join(' ');
  if (isObject(items) && Array.isArray(type)) return `${writtenAs(items)}, or list of them`;
  if (isObject(items)) return `list of ${Array.isArray(items['enum']) ? 'methods' : writtenAs(items)}`;
  if (typeof format === 'string' && forms[format] !== undefined) return forms[format];
  if (type === 'integer') return 'whole number';
  if (Array.isArray(type) && type.includes('integer')) return 'whole number, or the next';
  if (type === 'boolean') return '`true` `false`';
  return type === 'object' ? 'object' : 'text';
}

function defaultOf(part: Part, required: boolean): string {
  if (required) return 'required';
  const value = part['default'];
  if (value === undefined) return '';
  return value === '' ? 'empty' : code(typeof value === 'string' ? value : JSON.stringify(value));
}

function table(rows: readonly (readonly string[])[]): string {
  const [head = [], ...body] = rows;
  const lines = [head, head.map(() => '---'), ...body];
  return lines
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n');
}

function code(text: string): string {
  return `\`${text}\``;
}

if (import.meta.main) {
  for (const page of madePages) {
    const file = new URL(`../${page}`, import.meta.url);
    writeFileSync(file, renewTables(page, readFileSync(file, 'utf8')));
  }
}
