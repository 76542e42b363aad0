import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { parse } from 'yaml';
import { metricsIn } from '../../docs/write-tables.ts';
import { catalogue } from '../../src/refusals.ts';

// What is deployed beside the gateway: a query of a metric that is not there shows nothing and raises no alarm, and nobody notices.

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}

interface Query {
  readonly expr: string;
  readonly legendFormat: string;
}

interface Variable {
  readonly name: string;
  readonly query: string | { readonly query: string };
}

interface Dashboard {
  readonly templating: { readonly list: readonly Variable[] };
  readonly panels: readonly { readonly title: string; readonly targets: readonly Query[] }[];
}

const read = (file: string): string => readFileSync(new URL(`../../deploy/${file}`, import.meta.url), 'utf8');
const { groups } = parse(read('prometheus-rules.yaml')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(read('grafana-dashboard.json')) as Dashboard;
const variables = dashboard.templating.list;

/** Those that Prometheus gives to all. */
const given = ['job', 'instance'];
/** What may be asked for, each with its labels. */
const labelsOf = knownSeries();

for (const { alert, expr, labels, annotations } of rules) {
  test(`the alert ${alert} asks for what there is, and says what to do`, () => {
    const shown = checkQuery(expr);
    const told = `${annotations.summary} ${annotations.description}`;
    for (const [, label = ''] of told.matchAll(/\$labels\.(\w+)/g)) assert.ok(shown.has(label), label);
    assert.ok(['critical', 'warning'].includes(labels.severity));
    assert.ok(annotations.description.endsWith('.'));
  });
}

for (const { title, targets } of dashboard.panels) {
  test(`the panel "${title}" asks for what there is`, () => {
    for (const { expr, legendFormat } of targets) {
      const shown = checkQuery(expr);
      for (const [, label = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g))
        assert.ok(shown.has(label), label);
    }
    assert.ok(targets.length > 0);
  });
}

test('the variables of the dashboard list labels that there are, and every one that is used is there', () => {
  const lists = variables.flatMap(({ query }) => (typeof query === 'string' ? [] : [query.query]));
  for (const list of lists) {
    const [, selector = '', label = ''] = /^label_values\((.*), (\w+)\)$/.exec(list) ?? [];
    assert.ok(checkQuery(selector).has(label), list);
  }
  assert.equal(lists.length, 3);
  const names = new Set(variables.map(({ name }) => name));
  const used = read('grafana-dashboard.json').matchAll(/\$\{?(?!__)(\w+)/g);
  assert.deepEqual(new Set([...used].map(([, name = '']) => name)), names);
});

test('every panel can be narrowed down, above all those of metrics that any process has', () => {
  for (const { title, targets } of dashboard.panels) {
    for (const { expr } of targets) {
      for (const [, matchers = ''] of expr.matchAll(/\{(.*?)\}/g)) {
        assert.ok(matchers.startsWith('job=~"$job", instance=~"$instance"'), title);
      }
    }
  }
});

/** Holds a query to what there is, and tells which labels its answer can have. */
function checkQuery(expr: string): ReadonlySet<string> {
  const selectors = [...expr.matchAll(/\b(up|(?:gatehouse|process|nodejs)_\w+)(?:\{(.*?)\})?/g)];
  assert.ok(selectors.length > 0, expr);
  const known = new Set<string>();
  for (const [, name = '', matchers = ''] of selectors) {
    const labels = labelsOf.get(name) ?? assert.fail(`there is no ${name}`);
    for (const [, label = ''] of matchers.matchAll(/(\w+)[=!]/g)) {
      assert.ok(labels.includes(label), `${name} has no ${label}`);
    }
    for (const [, outcome = ''] of matchers.matchAll(/\b(?:refusal|outcome)!?="(.*?)"/g)) {
      assert.ok(outcome in catalogue || ['none', 'granted'].includes(outcome), outcome);
    }
    for (const label of labels) known.add(label);
  }
  const sums = [...expr.matchAll(/\b(?:sum|count|absent)\b(?: by \((.*?)\))?/g)];
  const kept = sums.map(([, by = '']) => by.split(', ').filter((label) => label !== ''));
  for (const label of kept.flat()) assert.ok(known.has(label), `no ${label} to sum by`);
  return kept.length === 0 ? known : new Set(kept[0]);
}

function knownSeries(): ReadonlyMap<string, readonly string[]> {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const series = new Map([['up', given]]);
  for (const { name, type, labels } of metricsIn(registry)) {
    const all = [...given, ...labels];
    if (type !== 'histogram') {
      series.set(name, all);
      continue;
    }
    series.set(`${name}_bucket`, [...all, 'le']);
    for (const part of ['sum', 'count']) series.set(`${name}_${part}`, all);
  }
  return series;
}
