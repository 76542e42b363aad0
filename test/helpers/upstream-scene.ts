import { createServer, type ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import type { Body } from '../../src/bodies/body.ts';
import type { HealthRule } from '../../src/config/config.ts';
import { codeOf } from '../../src/content/error-code.ts';
import type { Progress } from '../../src/upstream/exchange.ts';
import { createUpstream } from '../../src/upstream/upstream.ts';
import { listen } from './listen.ts';
import { noProgress } from './progress.ts';
import { openRaw } from './raw-socket.ts';
import { startRawUpstream, type RawScript } from './raw-upstream.ts';

interface SceneOptions {
  readonly responseMs?: number;
  readonly connectMs?: number;
  readonly connections?: number;
  /** In place of the silent one. */
  readonly target?: string;
  readonly ca?: string;
  /** The name and the value of a header of each request, as bytes: a test that looks for its text must not hold it. */
  readonly header?: readonly Buffer[];
  readonly bodyOf?: (bytes: Buffer) => Body;
  /** Targets beside the silent one. They come first. */
  readonly others?: readonly string[];
  readonly health?: HealthRule;
}

/** An upstream with one connection that is silent, and clients whose requests all go there. */
export async function startUpstreamScene(
  t: TestContext,
  size: number,
  {
    responseMs = 60_000,
    connectMs = 5000,
    connections = 1,
    bodyOf = inMemory,
    target,
    ca,
    others = [],
    header = [],
    health,
  }: SceneOptions = {},
) {
  const silent = await startRawUpstream(t);
  const started = {
    silent,
    bodies: [] as WeakRef<Buffer>[],
    progress: [] as Progress[],
    refusals: [] as unknown[],
    setAside: [] as string[],
    errors: [] as string[],
    usedAgain: [] as string[],
    unhealthy: [] as string[],
    healthyAgain: [] as string[],
    onSend: (_res: ServerResponse): unknown => undefined,
    method: 'POST',
  };
  const upstream = createUpstream(
    {
      name: 'one',
      targets: [target ?? silent.url, ...others],
      timeouts: { connectMs, responseMs, idleMs: 60_000 },
      connections,
      health,
      preserveHost: false,
      ca,
    },
    {
      countError: (_upstream, kind) => started.errors.push(kind),
      setAside: (_upstream, aside) => started.setAside.push(aside),
      usedAgain: (_upstream, back) => started.usedAgain.push(back),
      unhealthy: (_upstream, ill, { message }) => started.unhealthy.push(`${ill}: ${message}`),
      healthyAgain: (_upstream, well) => started.healthyAgain.push(well),
    },
  );
  t.after(() => upstream.close());
  const port = await listen(
    t,
    createServer((_req, res) => {
      const bytes = Buffer.alloc(size);
      started.bodies.push(new WeakRef(bytes));
      const request = {
        method: started.method,
        path: '/',
        headers: ['content-length', String(size), ...header.map(String)],
        body: bodyOf(bytes),
        host: 'a',
        ourHeaders: () => [],
        costHeader: undefined,
        whenWhole: undefined,
        switching: undefined,
      };
      const progress = noProgress();
      started.progress.push(progress);
      started.onSend(res);
      upstream.send(request, res, progress).catch((error: unknown) => {
        started.refusals.push(codeOf(error) ?? error);
        res.destroy();
      });
    }),
  );
  const ask = async (times = 1) => {
    const raw = await openRaw(t, port);
    raw.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(times));
    return raw;
  };
  /** The status of an answer, undefined if there was none. */
  const statusOf = async (): Promise<number | undefined> => (await (await ask()).responses(1))[0]?.status;
  return { ask, statusOf, started, upstream };
}

export function inMemory(bytes: Buffer): Body {
  return { kind: 'bytes', bytes, length: bytes.length, release: () => undefined };
}

/** Answers that there is nothing. */
export const answerNothing: RawScript = (socket) => {
  socket.write('HTTP/1.1 204 No Content\r\n\r\n');
};
