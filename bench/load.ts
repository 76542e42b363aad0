import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CannotRun } from './cannot-run.ts';
import { spawnHere } from './processes.ts';

/** What is sent, and the status that answers it. */
export interface Request {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** In Latin-1. Put together when it is needed: it may be large. */
  readonly body?: () => string;
  readonly status: number;
}

/** What one connection sends, again and again. */
export interface Load {
  readonly connections: number;
  /** In turn. */
  readonly requests: readonly Request[];
  /** Each request uses one of that many keys, at random. */
  readonly keysAtRandom?: number;
  /** Mean pause of a connection before each request, for less than full load. */
  readonly pauseMs?: number;
}

/** What wrk saw in one round. */
export interface Seen {
  readonly requests: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly errors: number;
}

interface LoadOptions {
  readonly port: number;
  readonly seconds: number;
  readonly cores: string;
  readonly folder: string;
}

/** Runs wrk once. */
export async function runLoad(load: Load, { port, seconds, cores, folder }: LoadOptions): Promise<Seen> {
  const script = join(folder, 'load.lua');
  writeFileSync(script, scriptOf(load, folder));
  const wrk = ['wrk', '-t1', `-c${load.connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', script];
  const args = ['-c', cores, ...wrk, `http://127.0.0.1:${port}`];
  const child = spawnHere('taskset', args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const timer = setTimeout(() => child.kill('SIGKILL'), (seconds + 15) * 1000);
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await once(child, 'close');
  clearTimeout(timer);
  const line = /^SEEN (.*)$/m.exec(output)?.[1];
  if (line === undefined) throw new CannotRun(`the load did not finish: ${lastLine(output)}`);
  return readSeen(load, JSON.parse(line) as Counts);
}

/** Sends each request of a load once, and throws CannotRun at the first that is not answered as it should be. */
export async function checkAnswers({ requests }: Pick<Load, 'requests'>, port: number): Promise<void> {
  for (const request of new Set(requests)) {
    const { method, path, status } = request;
    const answer = await answerTo(request, port);
    if (answer !== String(status))
      throw new CannotRun(`${method} ${path} was answered ${answer}, not ${status}`);
  }
}

const answerPatienceMs = 10_000;

/** The status, or why there is none. */
async function answerTo({ method, path, headers, body }: Request, port: number): Promise<string> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { ...headers, Connection: 'close' },
      body: body === undefined ? null : Buffer.from(body(), 'latin1'),
      redirect: 'manual',
      signal: AbortSignal.timeout(answerPatienceMs),
    });
    await answer.arrayBuffer();
    return String(answer.status);
  } catch (error) {
    const { cause = error } = error as Error;
    return `by nothing (${cause instanceof Error ? cause.message : String(cause)})`;
  }
}

function lastLine(output: string): string {
  return output.trim().split('\n').at(-1) || 'it said nothing';
}

interface Counts {
  readonly requests: number;
  readonly us: number;
  readonly p50: number;
  readonly p99: number;
  readonly broken: number;
  readonly refused: number;
}

/**
 * wrk only tells how many answers were refusals. Too many or too few of them are answers of another kind, but for the requests that
 * are under way when the load ends, one on each connection: these may all be of one kind.
 */
export function readSeen(
  { requests, connections }: Pick<Load, 'requests' | 'connections'>,
  counts: Counts,
): Seen {
  const refusals = requests.filter(({ status }) => status >= 400).length;
  const off = Math.abs(counts.refused - (counts.requests * refusals) / requests.length);
  const isMix = refusals > 0 && refusals < requests.length;
  const wrong = isMix && off <= connections ? 0 : Math.round(off);
  return {
    requests: counts.requests,
    seconds: counts.us / 1e6,
    p50Ms: counts.p50 / 1000,
    p99Ms: counts.p99 / 1000,
    errors: counts.broken + wrong,
  };
}

/** Makes wrk send in turn, and report what it saw in one line. */
function scriptOf({ requests, keysAtRandom, pauseMs }: Load, folder: string): string {
  const bodies = new Map([...new Set(requests)].map((request, at) => [request, join(folder, `body-${at}`)]));
  for (const [{ body }, file] of bodies) writeFileSync(file, body?.() ?? '', 'latin1');
  const tables = requests.map((request) => tableOf(request, bodies.get(request) ?? ''));
  return `
local requests = {
${tables.join(',\n')}
}
local turn = 0
local function format(one) return wrk.format(one.method, one.path, one.headers, one.body) end
function init()
  math.randomseed(os.time()) -- in each round other keys: the same again would be remembered by then
  for _, one in ipairs(requests) do
    local file = io.open(one.file, 'rb')
    local body = file:read('*a')
    file:close()
    if body ~= '' then one.body = body end
    one.built = format(one)
  end
end
function request()
  turn = turn % #requests + 1
  local one = requests[turn]
  ${keysAtRandom === undefined ? 'return one.built' : callAtRandom(keysAtRandom)}
end
${pauseMs === undefined ? '' : `function delay() return math.floor(math.random() * ${2 * pauseMs} + 0.5) end`}
function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    'SEEN {"requests":%d,"us":%d,"p50":%d,"p99":%d,"broken":%d,"refused":%d}\\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    e.connect + e.read + e.write + e.timeout, e.status))
end
`;
}

function tableOf({ method, path, headers }: Request, file: string): string {
  const fields = Object.entries(headers).map(
    ([name, value]) => `[${JSON.stringify(name)}] = ${JSON.stringify(value)}`,
  );
  return `  { method = '${method}', path = '${path}', headers = { ${fields.join(', ')} }, file = ${JSON.stringify(file)} }`;
}

function callAtRandom(keys: number): string {
  return `one.headers.apiKey = string.format('bench-key-%010d', math.random(0, ${keys - 1}))
  return format(one)`;
}
