import assert from 'node:assert/strict';
import type { RawResponse } from './parse-responses.ts';
import type { Scene } from './poll.ts';
import { openRaw, requestBytes } from './raw-socket.ts';
import {
  startRecordingUpstream,
  type RecordedRequest,
  type RecordingUpstream,
} from './recording-upstream.ts';
import { demoKey, startGateway, type Gateway, type GatewayOptions, type Yaml } from './start-gateway.ts';

/** A gateway before a recording upstream, and the questions every test of its door asks. */
export interface Door {
  readonly gateway: Gateway;
  readonly upstream: RecordingUpstream;
  /** Sends the bytes on a connection of their own; returns the final responses once there are so many, or the close. */
  send(bytes: string | Buffer, count?: number, methods?: readonly string[]): Promise<RawResponse[]>;
  /** Everything that reached the upstream since the last call. */
  reached(): RecordedRequest[];
  /** Fails unless the same process answers a fresh valid request. */
  stillServes(): Promise<void>;
}

/** The path that the door itself asks for. Every configuration of a door needs a route `GET /v1/alive`. */
const alivePath = '/v1/alive';

/** Starts both; the configuration is laid over the base configuration. */
export async function openDoor(
  t: Scene,
  config: Yaml,
  options: Omit<GatewayOptions, 'upstream'> = {},
): Promise<Door> {
  const upstream = await startRecordingUpstream(t);
  const gateway = await startGateway(t, config, { ...options, upstream: upstream.url });
  let seen = 0;
  const door: Door = {
    gateway,
    upstream,
    async send(bytes, count = 1, methods = []) {
      const undo: (() => unknown)[] = [];
      const raw = await openRaw({ after: (action) => undo.push(action) }, gateway.port, { methods });
      raw.write(bytes);
      const all = await raw.responses(count).finally(() => undo.forEach((action) => action()));
      return all.filter(({ status }) => status >= 200);
    },
    reached() {
      assert.deepEqual(upstream.malformed, []);
      const fresh = upstream.requests.slice(seen).filter(({ target }) => target !== alivePath);
      seen = upstream.requests.length;
      return fresh;
    },
    async stillServes() {
      const [answer] = await door.send(requestBytes(`GET ${alivePath}`, [['apiKey', demoKey]]));
      assert.equal(answer?.status, 200);
      assert.equal(gateway.child.exitCode, null);
    },
  };
  return door;
}
