import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { launch, type Launched } from './launch.ts';

const help = `Starts the example upstream and the gateway in front of it, and prints calls to paste.

  npm run demo [-- --port N --admin-port N --upstream-port N]

  --port N           where the gateway listens (8080; 0 = any free port)
  --admin-port N     where console, health and metrics are (9090)
  --upstream-port N  where the example upstream listens (9000)
  --help             this text`;

const fileHere = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

interface Ports {
  readonly port: string;
  readonly adminPort: string;
  readonly upstreamPort: string;
}

/** Runs until a signal asks it to stop, or until something that it started ends. */
async function runDemo(ports: Ports): Promise<void> {
  const stopAsked = listenForStop();
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-demo-'));
  const started: Launched<unknown>[] = [];
  try {
    console.log('Starting the example upstream …');
    const upstream = launch('the example upstream', {
      args: [fileHere('recognition/server.ts'), '--port', ports.upstreamPort],
      readReady: (line) => /http:\/\/\S+/.exec(line)?.[0],
    });
    started.unshift(upstream);
    const upstreamUrl = await Promise.race([upstream.ready, stopAsked]);
    if (!upstreamUrl) return;

    console.log('Starting the gateway …');
    const key = `demo-${randomBytes(18).toString('base64url')}`;
    const token = `demo-${randomBytes(18).toString('base64url')}`;
    const gateway = launch('the gateway', {
      args: [fileHere('../src/main.ts'), 'serve', '--config', fileHere('demo.yaml')],
      env: {
        DEMO_PORT: ports.port,
        DEMO_ADMIN_PORT: ports.adminPort,
        DEMO_UPSTREAM: upstreamUrl,
        DEMO_FOLDER: folder,
        DEMO_KEY: key,
        DEMO_ADMIN_TOKEN: token,
      },
      readReady: readAddresses,
    });
    started.unshift(gateway);
    const addresses = await Promise.race([gateway.ready, stopAsked]);
    if (!addresses) return;

    console.log(invitation({ ...addresses, upstreamUrl, key, token }));
    gateway.showOutput();
    upstream.showOutput();
    const death = await Promise.race([stopAsked, ...started.map(({ ended }) => ended)]);
    if (death) throw new Error(death);
    console.log('Stopping …');
  } finally {
    // The gateway goes first, so that what is in flight still gets its answer from the upstream.
    for (const child of started) await child.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** A gateway's addresses, as its ready line tells them. */
interface Addresses {
  readonly listen: string;
  readonly admin: string;
}

function readAddresses(line: string): Addresses | undefined {
  if (!line.startsWith('{')) return undefined;
  const { msg, listen, admin } = JSON.parse(line) as Record<string, unknown>;
  const ready = typeof msg === 'string' && msg.startsWith('ready');
  return ready ? { listen: String(listen), admin: String(admin) } : undefined;
}

function invitation(scene: Addresses & { upstreamUrl: string; key: string; token: string }): string {
  const api = `http://${scene.listen}/v1/voice-gender-recognition/api`;
  const url = `${api}/name`;
  const withKey = `-H "apiKey: ${scene.key}"`;
  const json = `-H "Content-Type: application/json"`;
  const good = `-d '{"firstName": "Ada", "lastName": "Lovelace"}'`;
  return `
Gateway   http://${scene.listen}
Console   http://${scene.admin}/ with the token ${scene.token}
Upstream  ${scene.upstreamUrl}

A call that succeeds:
curl -i ${url} ${withKey} ${json} ${good}

One without a key, answered with 401:
curl -i ${url} ${json} ${good}

One with a bad body, answered with 400:
curl -i ${url} ${withKey} ${json} -d '{"firstName": "Ada"}'

A sound of one second, made here and uploaded:
${soundCommand('voice.wav')} && curl -i ${api}/voice ${withKey} -F file=@voice.wav

A text that only claims to be a sound, answered with 415:
echo 'not a sound' > text.wav && curl -i ${api}/voice ${withKey} -F file=@text.wav

Ctrl-C stops both. The gateway's log:`;
}

/** A line of shell that writes a WAV file: the 44 bytes of its head, then one second of a tone of 200 Hz at 16 kHz. */
function soundCommand(file: string): string {
  const script = [
    'const b=Buffer.alloc(32044)',
    "b.write('RIFF')",
    'b.writeUInt32LE(32036,4)',
    "b.write('WAVEfmt ',8)",
    '[[16,4],[65537,4],[16000,4],[32000,4],[1048578,4]].reduce((o,[v,n])=>b.writeUIntLE(v,o,n),16)',
    "b.write('data',36)",
    'b.writeUInt32LE(32000,40)',
    'for(let i=0;i<16000;i++)b.writeInt16LE(2e4*Math.sin(i*Math.PI/40),44+2*i)',
    `fs.writeFileSync('${file}',b)`,
  ];
  return `node -e "${script.join(';')}"`;
}

/**
 * Resolves at the first Ctrl-C or SIGTERM, or when the terminal is closed, which what runs beside this one does not hear of. A
 * second Ctrl-C or SIGTERM ends everything at once. Some npm versions hand on a signal that the terminal has sent here already,
 * so what follows within half a second is still the first.
 */
function listenForStop(): Promise<undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  let askedAt: number | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    askedAt ??= performance.now();
    if (performance.now() - askedAt > 500 && signal !== 'SIGHUP') process.exit(130);
    resolve(undefined);
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  process.on('SIGHUP', onSignal);
  // Where the terminal is gone, what is written fails, and that must not keep anything from being stopped.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  return promise;
}

function readPorts(): Ports | undefined {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '8080' },
      'admin-port': { type: 'string', default: '9090' },
      'upstream-port': { type: 'string', default: '9000' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  const ports = { port: values.port, adminPort: values['admin-port'], upstreamPort: values['upstream-port'] };
  for (const port of Object.values(ports)) {
    if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) throw new Error(`not a port: ${port}`);
  }
  return ports;
}

/** What is wrong, and where a port is taken already, how to do without it. */
function complaintOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (!message.endsWith('another process uses it')) return message;
  return `${message}, for free ports say: npm run demo -- --port 0 --admin-port 0 --upstream-port 0`;
}

try {
  const ports = readPorts();
  await (ports ? runDemo(ports) : console.log(help));
} catch (error) {
  console.error(`demo: ${complaintOf(error)}`);
  process.exitCode = 1;
}
