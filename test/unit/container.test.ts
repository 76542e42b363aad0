import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse, parseAllDocuments } from 'yaml';
import { parseDuration } from '../../src/config/units.ts';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const dockerfile = read('Dockerfile').replaceAll('\\\n', '');
const stages = dockerfile.split(/^(?=FROM )/m).slice(1);
const final = stages.at(-1) ?? '';

test('the image runs the Node that the package pins', () => {
  const { optionalDependencies } = JSON.parse(read('package.json')) as {
    optionalDependencies: Record<string, string>;
  };
  const pinned = new Set(Object.values(optionalDependencies));
  assert.equal(pinned.size, 1);
  const [major, minor] = [...pinned][0]?.split('.') ?? [];
  assert.match(dockerfile, new RegExp(`^ARG NODE_IMAGE=node:${major}\\.${minor}-slim$`, 'm'));
  for (const stage of stages) assert.match(stage, /^FROM \$\{NODE_IMAGE\}( AS \w+)?$/m);
});

test('the image holds production dependencies and the compiled gateway, and nothing else', () => {
  assert.doesNotMatch(final, /npm/);
  const copied = [...final.matchAll(/^COPY (.*)$/gm)].map(([, what]) => what);
  assert.deepEqual(copied, [
    '--from=dependencies /app/node_modules ./node_modules',
    '--from=build /app/dist ./dist',
    'package.json ./',
  ]);
  const dependencies = stages.find((stage) => / AS dependencies$/m.test(stage)) ?? '';
  const installs = [...dependencies.matchAll(/^RUN (.*)$/gm)].map(([, command]) => command);
  assert.deepEqual(installs, ['npm ci --omit=dev --omit=optional']);
});

test('the image runs as the user node, which owns the folder of the store', () => {
  assert.equal(final.match(/^USER (.*)$/gm)?.at(-1), 'USER node');
  assert.match(final, /^RUN mkdir data && chown node:node data && /m);
  assert.match(final, /^VOLUME \/app\/data$/m);
});

test('gatehouse is a command in the image', () => {
  const build = stages.find((stage) => / AS build$/m.test(stage)) ?? '';
  assert.match(build, /^RUN npm run build && chmod \+x dist\/main\.js$/m);
  assert.match(final, /^RUN .* && ln -s \/app\/dist\/main\.js \/usr\/local\/bin\/gatehouse$/m);
});

test('SIGTERM reaches Node without a shell in between', () => {
  const exec = (instruction: string): unknown =>
    JSON.parse(new RegExp(`^${instruction} (.*)$`, 'm').exec(final)?.[1] ?? 'null');
  assert.deepEqual(exec('ENTRYPOINT'), ['node', 'dist/main.js']);
  assert.deepEqual(exec('CMD'), ['serve', '--config', '/etc/gatehouse/gateway.yaml']);
  assert.match(final, /^STOPSIGNAL SIGTERM$/m);
});

test('the health check asks the admin listener and is an exec form too', () => {
  const [, command] = /^HEALTHCHECK .*CMD (\[.*\])$/m.exec(final) ?? [];
  const [program, flag, script] = JSON.parse(command ?? '[]') as string[];
  assert.deepEqual([program, flag], ['node', '-e']);
  assert.match(script ?? '', /127\.0\.0\.1:9090\/livez/);
});

test('the build takes along what is no TypeScript', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const src = new URL('../../src/', import.meta.url);
  const others = readdirSync(src, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && !entry.name.endsWith('.ts') && entry.name !== 'tsconfig.json',
  );
  const folders = new Set(others.map(({ parentPath }) => relative(fileURLToPath(src), parentPath)));
  assert.ok(folders.size > 1);
  for (const folder of folders) assert.ok(scripts['build']?.includes(` src/${folder}`), folder);
});

test('only what is named enters the build', () => {
  const [everything, ...exceptions] = read('.dockerignore')
    .split('\n')
    .filter((line) => line && !line.startsWith('#'));
  assert.equal(everything, '*');
  for (const line of exceptions) assert.match(line, /^!/);
});

interface Pod {
  readonly terminationGracePeriodSeconds: number;
  readonly securityContext: Record<string, unknown>;
  readonly containers: readonly {
    readonly name: string;
    readonly securityContext: Record<string, unknown>;
    readonly readinessProbe?: { readonly periodSeconds: number };
    readonly lifecycle?: { readonly preStop: { readonly sleep: { readonly seconds: number } } };
  }[];
}

const manifests = parseAllDocuments(read('deploy/kubernetes.yaml')).map(
  (document) => document.toJS() as Record<string, unknown>,
);
const { spec } = manifests.find(({ kind }) => kind === 'Deployment') as {
  spec: { template: { spec: Pod } };
};
const pod = spec.template.spec;

test('in Kubernetes no container may write to its root file system or gain rights', () => {
  assert.equal(pod.securityContext['runAsNonRoot'], true);
  assert.equal(pod.containers.length, 2);
  for (const container of pod.containers) {
    assert.deepEqual(container.securityContext, {
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
    });
  }
});

test('in Kubernetes the Service has time to look away, and who is needed in a drain outlasts it', () => {
  const { data } = manifests.find(({ kind }) => kind === 'ConfigMap') as { data: Record<string, string> };
  const { drain } = parse(data['gateway.yaml'] ?? '') as { drain: Record<'delay' | 'timeout', string> };
  const [delayMs, timeoutMs] = [drain.delay, drain.timeout].map((text) => parseDuration(text) ?? Number.NaN);
  const [gateway, upstream] = pod.containers;
  assert.ok(delayMs! > gateway!.readinessProbe!.periodSeconds * 1000);
  assert.ok(upstream!.lifecycle!.preStop.sleep.seconds * 1000 > delayMs! + timeoutMs!);
  assert.ok(pod.terminationGracePeriodSeconds > upstream!.lifecycle!.preStop.sleep.seconds);
});

test('under Compose both services are read-only and the upstream is reached through the gateway alone', () => {
  const { services, networks } = parse(read('deploy/compose.yaml')) as {
    services: Record<string, Record<string, unknown>>;
    networks: unknown;
  };
  for (const service of Object.values(services)) assert.equal(service['read_only'], true);
  assert.deepEqual(services['upstream']?.['networks'], ['behind']);
  assert.deepEqual(networks, { behind: { internal: true } });
  assert.deepEqual(services['gateway']?.['networks'], ['default', 'behind']);
  assert.equal(services['upstream']?.['ports'], undefined);
  // Compose stops what depends on another first.
  assert.deepEqual(services['gateway']?.['depends_on'], ['upstream']);
});
