import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { once } from 'node:events';

/** What one connection sends, again and again. */
export interface Load {
  readonly connections: number;
  /** Lua that defines `requests`, a list of functions or texts to send in turn. */
  readonly script: string;
  /** Requests that are answered 400 or above on purpose: all, none, or some of a mix. */
  readonly refused: 'all' | 'none' | 'some';
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

export interface LoadOptions {
  readonly port: number;
  readonly seconds: number;
  readonly cores: string;
  readonly folder: string;
}

/** Runs wrk once. */
export async function runLoad(load: Load, { port, seconds, cores, folder }: LoadOptions): Promise<Seen> {
  const script = join(folder, 'load.lua');
  writeFileSync(script, `${load.script}\n${driver(load)}`);
  const wrk = ['wrk', '-t1', `-c${load.connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', script];
  const args = ['-c', cores, ...wrk, `http://127.0.0.1:${port}`];
  const child = spawn('taskset', args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const timer = setTimeout(() => child.kill('SIGKILL'), (seconds + 15) * 1000);
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await once(child, 'close');
  clearTimeout(timer);
  const line = /^SEEN (.*)$/m.exec(output)?.[1];
  if (line === undefined) throw new Error(`wrk did not finish:\n${output.slice(-1000)}`);
  return read(load, JSON.parse(line) as Counts);
}

interface Counts {
  readonly requests: number;
  readonly us: number;
  readonly p50: number;
  readonly p99: number;
  readonly broken: number;
  readonly refused: number;
}

function read({ refused }: Load, counts: Counts): Seen {
  const wrong =
    refused === 'some' ? 0 : refused === 'none' ? counts.refused : counts.requests - counts.refused;
  return {
    requests: counts.requests,
    seconds: counts.us / 1e6,
    p50Ms: counts.p50 / 1000,
    p99Ms: counts.p99 / 1000,
    errors: counts.broken + Math.max(0, wrong),
  };
}

/** The part of the script that is the same for all: send in turn, and tell what was seen in one line. */
function driver({ pauseMs }: Load): string {
  return `
local turn = 0
local built = {}
function init()
  for i, one in ipairs(requests) do
    built[i] = type(one) == 'function' and one or wrk.format(one.method, one.path, one.headers, one.body)
  end
end
function request()
  turn = turn % #built + 1
  local one = built[turn]
  if type(one) == 'function' then return one() end
  return one
end
${pauseMs === undefined ? '' : `function delay() return math.random(0, ${Math.round(2 * pauseMs)}) end`}
function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    'SEEN {"requests":%d,"us":%d,"p50":%d,"p99":%d,"broken":%d,"refused":%d}\\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    e.connect + e.read + e.write + e.timeout, e.status))
end
`;
}
