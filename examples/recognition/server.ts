import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { guessByName } from './names.ts';
import { readUpload, readWhole } from './read-upload.ts';
import { Unreadable } from './unreadable.ts';
import { guessByVoice } from './voice.ts';
import { decodeWav } from './wav.ts';

const nameBytesMax = 16 * 1024;
const voiceBytesMax = 16 * 1024 * 1024;

type Endpoint = (req: IncomingMessage) => unknown;

const endpoints: Readonly<Record<string, Endpoint>> = {
  'POST /v1/voice-gender-recognition/api/name': answerName,
  'POST /v1/voice-gender-recognition/api/voice': answerVoice,
  'GET /healthz': () => ({ status: 'ok' }),
};

/** A recognition service that does not listen yet. */
export function createRecognition(): Server {
  return createServer((req, res) => {
    void answer(req, res);
  });
}

async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const path = (req.url ?? '').split('?')[0];
  const endpoint = endpoints[`${req.method} ${path}`];
  try {
    if (!endpoint) return send(res, 404, { error: 'Not found' });
    send(res, 200, await endpoint(req));
  } catch (error) {
    if (error instanceof Unreadable) return send(res, error.status, { error: error.message });
    // The caller left in the middle of its body, so there is nobody to answer.
    if (req.destroyed && !req.complete) return;
    console.error(error);
    send(res, 500, { error: 'Internal server error' });
  }
}

function send(res: ServerResponse, status: number, body: unknown): void {
  // What was not read of a refused body must not be taken for the next request.
  if (!res.req.complete) res.setHeader('connection', 'close');
  res.writeHead(status, { 'content-type': 'application/json' });
  res.end(JSON.stringify(body));
}

async function answerName(req: IncomingMessage): Promise<unknown> {
  const body = parseJson(await readWhole(req, nameBytesMax));
  const { firstName, lastName } = body as Record<string, unknown>;
  if (typeof firstName !== 'string' || typeof lastName !== 'string') {
    throw new Unreadable(400, 'firstName and lastName must be strings');
  }
  return guessByName(firstName);
}

async function answerVoice(req: IncomingMessage): Promise<unknown> {
  return guessByVoice(decodeWav(await readUpload(req, voiceBytesMax)));
}

function parseJson(bytes: Buffer): object {
  try {
    const value: unknown = JSON.parse(bytes.toString());
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // Said below, in the same words for everything that is not an object.
  }
  throw new Unreadable(400, 'The body must be a JSON object');
}

const help = `Starts the example upstream: it guesses the gender that goes with a name or a voice.

  npm run example [-- --host ADDRESS --port N]

  --host ADDRESS  where it listens (127.0.0.1)
  --port N        the port (9000; 0 = any free port)
  --help          this text`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      host: { type: 'string', default: '127.0.0.1' },
      port: { type: 'string', default: '9000' },
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) return console.log(help);
  if (!/^\d{1,5}$/.test(values.port) || Number(values.port) > 65_535)
    throw new Error(`--port is a number from 0 to 65535, not ${values.port}`);
  const server = createRecognition();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => server.close());
  }
  await once(server.listen(Number(values.port), values.host), 'listening');
  console.log(`recognition listens on http://${values.host}:${(server.address() as AddressInfo).port}`);
}

if (import.meta.main) {
  await main().catch((error: NodeJS.ErrnoException & Partial<AddressInfo>) => {
    console.error(
      error.code === 'EADDRINUSE'
        ? `recognition cannot listen on ${error.address}:${error.port}: another process uses it`
        : error.message,
    );
    process.exitCode = 1;
  });
}
