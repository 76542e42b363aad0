import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { stringify } from 'yaml';
import { launch } from '../../src/commands/relaunch.ts';
import { isObject } from '../../src/content/is-object.ts';
import type { RawResponse } from './parse-responses.ts';
import { until, type Scene } from './poll.ts';
import { hasEnded } from './processes.ts';
import { main } from './run-cli.ts';

/** One line of the gateway's log. */
export type LogLine = Readonly<Record<string, unknown>>;

/** A configuration as YAML would describe it. */
export interface Yaml {
  readonly [key: string]: unknown;
}

/** How a gateway process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

interface Readiness {
  readonly status: number;
  readonly reasons: readonly string[];
}

/** A gateway that runs as its own process, as in production. */
export interface Gateway {
  readonly url: string;
  readonly port: number;
  readonly adminUrl: string;
  readonly pid: number;
  readonly child: ChildProcess;
  /** The temporary folder, which is its working directory too. */
  readonly folder: string;
  readonly configFile: string;
  /** Every JSON line on stdout so far. */
  logs(): LogLine[];
  /** The line of the request that was answered so, once it is there. */
  lineOf(answer: Pick<RawResponse, 'headers'> | undefined): Promise<LogLine>;
  /** Everything on stdout and stderr so far. */
  logText(): string;
  /** The page of metrics, as it is now, asked for with the admin token of the configuration where it has one. */
  metrics(): Promise<string>;
  /** What `/readyz` says, to whoever has no token. */
  readiness(query?: string): Promise<Readiness>;
  /** What the base configuration's route answers to this key. */
  statusFor(key: string): Promise<number>;
  /** The gauge of requests in flight. */
  inFlight(): Promise<number>;
  /** Sends the signal, SIGTERM by default, and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<Exit>;
  /** Resolves when the process has ended and all of its log is here. */
  readonly exited: Promise<Exit>;
}

/** The rest of a scene: what differs from the base configuration and from this process's environment. */
export interface GatewayOptions {
  /** Where the base configuration's only upstream is. */
  readonly upstream?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** How many files it may have open, connections included. */
  readonly filesMax?: number;
}

/** A start is the most work that a test asks of a busy machine. A gateway that fails to start ends, and is not waited for. */
const longestStartMs = 180_000;

/** The key of the base configuration. */
export const demoKey = 'k-demo';

/** The path of the base configuration's only route. */
export const namePath = '/v1/voice-gender-recognition/api/name';

/**
 * Starts `serve` and waits until it is ready. The configuration is a whole YAML text, or an object that is laid over
 * the base: objects merge, everything else replaces, `undefined` takes away.
 */
export async function startGateway(
  t: Scene,
  config: string | Yaml = {},
  { upstream = 'http://127.0.0.1:9', env = {}, filesMax }: GatewayOptions = {},
): Promise<Gateway> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-test-'));
  const configFile = join(folder, 'gateway.yaml');
  const whole = typeof config === 'string' ? config : overlay(baseConfig(upstream, folder), config);
  await writeFile(configFile, typeof whole === 'string' ? whole : stringify(whole));
  // With these it need not replace itself first, which would be a tenth of what a start costs here.
  const command = [process.execPath, ...launch.flags, main, 'serve', '--config', configFile];
  const [program = '', ...words] = filesMax === undefined ? command : withFiles(filesMax, command);
  const child = spawn(program, words, {
    cwd: folder,
    env: { ...launch.environment, ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = endOf(child);
  t.after(async () => {
    child.kill('SIGKILL');
    await exited;
    await rm(folder, { recursive: true, force: true });
  });
  const output = collectOutput(child);
  const ready = await until(() => output.logs().find(isReady) ?? (hasEnded(child) || undefined), {
    what: 'ready',
    within: longestStartMs,
  }).catch((cause: unknown) => {
    throw new Error(`the gateway did not become ready\n${output.text()}`, { cause });
  });
  if (ready === true) throw new Error(`the gateway ended before it was ready\n${output.text()}`);
  const listen = String(ready['listen']);
  const adminUrl = `http://${String(ready['admin'])}`;
  // A silent connection is ended after some seconds, which may be when it is taken again.
  const connection = 'close';
  const metrics = async (): Promise<string> =>
    (await fetch(`${adminUrl}/metrics`, { headers: { ...authorizationIn(whole), connection } })).text();
  return {
    url: `http://${listen}`,
    port: Number(listen.slice(listen.lastIndexOf(':') + 1)),
    adminUrl,
    pid: child.pid!,
    child,
    folder,
    configFile,
    logs: output.logs,
    lineOf(answer) {
      const id = answer?.headers['x-request-id'];
      return until(() => output.logs().find(({ requestId }) => requestId === id), {
        what: `the log line of ${id}`,
      });
    },
    logText: output.text,
    metrics,
    async readiness(query = '') {
      const answer = await fetch(`${adminUrl}/readyz${query}`, { headers: { connection } });
      const { reasons } = (await answer.json()) as Pick<Readiness, 'reasons'>;
      return { status: answer.status, reasons };
    },
    async statusFor(key) {
      const answer = await fetch(`http://${listen}${namePath}`, {
        method: 'POST',
        headers: { apiKey: key, 'content-type': 'application/json', connection },
        body: '{"firstName":"Ada","lastName":"Lovelace"}',
      });
      await answer.arrayBuffer();
      return answer.status;
    },
    inFlight: async () => Number(/^gatehouse_requests_in_flight (\d+)$/m.exec(await metrics())?.[1]),
    exited,
    async stop(signal = 'SIGTERM') {
      child.kill(signal);
      return exited;
    },
  };
}

/** What an operator says who has the token of the configuration, if it has one. */
function authorizationIn(config: string | Yaml): Readonly<Record<string, string>> {
  const { admin } = typeof config === 'string' ? {} : (config as { admin?: { token?: string } });
  return admin?.token === undefined ? {} : { authorization: `Bearer ${admin.token}` };
}

/** The shell becomes the command, which then has its process id. */
function withFiles(max: number, command: readonly string[]): readonly string[] {
  return ['sh', '-c', 'ulimit -n "$0" && exec "$@"', String(max), ...command];
}

/** The small configuration that tests vary. */
export function baseConfig(upstream: string, folder: string): Yaml {
  return {
    listen: '127.0.0.1:0',
    admin: { listen: '127.0.0.1:0' },
    store: `sqlite:${join(folder, 'gatehouse.db')}`,
    plans: { free: {} },
    keys: [{ id: 'demo', plan: 'free', secret: demoKey }],
    upstreams: { recognition: { targets: [upstream] } },
    versions: { v1: { upstream: 'recognition' } },
    // Without a schema, which would cost each start a tenth more.
    routes: [{ path: namePath, methods: ['POST'], body: { json: { maxSize: '16KB' } } }],
    log: { level: 'info', format: 'json' },
  };
}

/** Lays one configuration over another: objects merge, everything else replaces, `undefined` takes away. */
export function overlay(base: Yaml, over: Yaml): Yaml {
  const result: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const below = result[key];
    result[key] = isObject(below) && isObject(value) ? overlay(below, value) : value;
  }
  return result;
}

function isReady(line: LogLine): boolean {
  return typeof line['msg'] === 'string' && line['msg'].startsWith('ready');
}

function collectOutput(child: ChildProcess): { logs: () => LogLine[]; text: () => string } {
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  const parsed: LogLine[] = [];
  let parsedUpTo = 0;
  // Tests ask again and again, so each line is parsed once.
  const logs = (): LogLine[] => {
    const end = stdout.lastIndexOf('\n') + 1;
    if (end > parsedUpTo) parsed.push(...stdout.slice(parsedUpTo, end).split('\n').flatMap(parseLine));
    parsedUpTo = end;
    return [...parsed];
  };
  return { logs, text: () => stdout + stderr };
}

/** Its last lines may still be on their way. Nobody but it writes there: what workers log goes through it. */
async function endOf(child: ChildProcess): Promise<Exit> {
  const [code, signal] = (await once(child, 'exit')) as [Exit['code'], Exit['signal']];
  if (child.stdout) await finished(child.stdout).catch(() => undefined);
  return { code, signal };
}

function parseLine(line: string): LogLine[] {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? [value] : [];
  } catch {
    return [];
  }
}
