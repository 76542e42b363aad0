import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Answerer } from './answer.ts';
import { usageRoute } from './config/route-names.ts';
import type { Connections } from './door/connections.ts';
import { admit, tellLimits, type Admission } from './stages/admit.ts';
import { authenticate, type KeyCheck } from './stages/authenticate.ts';
import { authorise } from './stages/authorise.ts';
import { checkRequest } from './stages/check-request.ts';
import { checkUpgrade } from './stages/check-upgrade.ts';
import { findRoute, type RouteTable } from './stages/find-route.ts';
import { forward, type Forwarding } from './stages/forward.ts';
import { readBody, type BodyRooms } from './stages/read-body.ts';
import { settle } from './stages/settle.ts';
import { showUsage, type UsageDesk } from './stages/show-usage.ts';
import { allIsRead } from './waiting/when-all-is-read.ts';

/** What the stages work with under one configuration. */
export interface Provisions {
  readonly connections: Connections;
  /** The names of the headers that may hold the key, in lower case. */
  readonly keyHeaders: readonly string[];
  readonly keyCheck: KeyCheck;
  readonly routes: RouteTable;
  readonly usage: UsageDesk;
  readonly admission: Admission;
  readonly bodyRooms: BodyRooms;
  readonly forwarding: Forwarding;
  readonly answer: Answerer;
}

export type Travel = (req: IncomingMessage, res: ServerResponse) => Promise<void>;

/**
 * THE JOURNEY of a request. Each stage takes what earlier stages found, and returns or throws a Refusal, which the one answerer
 * turns into a response; the statuses it may refuse with stand beside it, those of a body that streams beside `readBody`. Only
 * `forward` touches an upstream, so a refused request never gets there. What `admit` reserved is charged or given back by what
 * really happened, however the journey ends.
 */
export function createJourney(by: Provisions): Travel {
  return async function travel(req, res) {
    const { visit } = req;
    let leave: (() => void) | undefined;
    try {
      const connection = by.connections.of(req.socket);
      leave = by.connections.enter(res, connection); //                 503
      const turn = connection?.turn(res);
      if (turn !== undefined) await turn; //                            499 503
      // Requests that came together take each stage together; one that is alone waits for nobody.
      if (by.connections.inFlight > 1) await allIsRead();
      const head = checkRequest(req, by.keyHeaders); //                 400 417
      visit.path = head.path;

      // Awaited even with nothing to wait for: by then a body that came with its head has been read, and takes the quick way.
      const caller = await authenticate(head, visit, by.keyCheck); // 401 429 500
      visit.keyId = caller.keyId;
      visit.plan = caller.plan;

      if (head.path === by.usage.path) {
        visit.route = usageRoute;
        return await showUsage(res, { head, caller, requestId: visit.id }, by.usage); // 405 499 500 503
      }

      const route = findRoute(head, by.routes, Date.now()); //          404 405 410
      visit.route = route.name;
      visit.upstream = route.upstream;
      authorise(caller, route, head.path); //                           403
      const handshake = checkUpgrade(req, head, route); //              400

      const grant = await admit(res, { caller, route }, by.admission); // 429 499 500 503
      visit.owed = grant.owed;
      let released: Promise<void> | void = undefined;
      try {
        const order = { head, rule: route.body, rooms: by.bodyRooms, visit };
        const body = await readBody(res, order); //                     400 408 413 415 499 503
        try {
          const parcel = {
            head,
            caller,
            route,
            body,
            handshake,
            visit,
            tellLimits: () => tellLimits(grant, caller, by.admission),
            whenWhole: grant.leavePlace,
          };
          await forward(res, parcel, by.forwarding); //                 499 502 503 504
        } finally {
          released = body.release();
        }
        const whenOut = connection?.whenOut(res);
        if (whenOut !== undefined) await whenOut;
      } finally {
        settle(grant, visit);
        // Only after settling: closing a file takes a while, and a client that has its answer may have asked again by then.
        await released;
      }
    } catch (refusal) {
      by.answer(res, refusal);
    } finally {
      leave?.();
    }
  };
}
