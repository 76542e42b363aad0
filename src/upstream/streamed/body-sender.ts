import type { ClientRequest } from 'node:http';
import { TLSSocket } from 'node:tls';
import { type Body, chunksOf } from '../../bodies/body.ts';
import { refusalFor } from '../../refusals.ts';
import { Countdown } from '../../waiting/countdown.ts';
import { whenAllIsRead } from '../../waiting/when-all-is-read.ts';
import { NonsenseAnswer, Stalled } from '../failures.ts';
import type { Relay } from '../relay.ts';

interface Sending {
  readonly body: Body;
  /** It has its connection, and nothing has left on that. */
  readonly outgoing: ClientRequest;
  readonly relay: Relay;
  /** How long a chunk may wait for the upstream to take it. */
  readonly idleMs: number;
}

/**
 * Sends the body of one request. No more than its first chunk is read before that has been sent, so a target that cannot be reached
 * costs none of it. The request is ended only when all of the body has passed, so one that breaks a rule can never be taken for
 * complete.
 */
export class BodySender {
  readonly #body: Body;
  readonly #outgoing: ClientRequest;
  /** How many bytes its connection had brought before it was given to this request. */
  readonly #broughtBefore: number | undefined;
  readonly #relay: Relay;
  /** The time of the upstream to take the chunk that waits. */
  readonly #patience: Countdown;
  /** How many bytes have been written, the chunk that waits among them. */
  #written = 0;
  /** A chunk waits for the upstream to take it. */
  #isWriting = false;
  /** The client reads nothing of the answer at present. */
  #isHeld = false;
  #state: 'under way' | 'done' | 'unwanted' = 'under way';

  constructor({ body, outgoing, relay, idleMs }: Sending) {
    this.#body = body;
    this.#outgoing = outgoing;
    this.#broughtBefore = outgoing.socket?.bytesRead;
    this.#relay = relay;
    this.#patience = new Countdown(idleMs, () =>
      relay.breakOff(new Stalled(`took nothing for ${idleMs} ms`)),
    );
  }

  async send(): Promise<void> {
    // By then it is known what has become of a kept connection, which may be closed already.
    if (this.#outgoing.reusedSocket) await new Promise<void>(whenAllIsRead);
    try {
      for await (const chunk of chunksOf(this.#body)) {
        if (!this.#mayWrite()) return;
        await this.#write(chunk);
        if (this.#state === 'done') return;
      }
    } catch (error) {
      // The answer is complete, which is why reading the rest of the body was stopped.
      if (this.#state === 'unwanted') return;
      // Whatever is wrong with the body is not the target's fault. This destroys the request, which is not ended: the upstream is
      // left short of the declared length, or without the last chunk.
      this.#relay.breakOff(refusalFor(error));
      return;
    }
    if (this.#mayWrite()) this.#end();
  }

  /**
   * The answer is complete, so the rest is not wanted. False when all of the body had been written. Over TLS we may not have heard of
   * the last write yet, but need not wait for that: what was written is a copy, so the chunk may be used again.
   */
  giveUpRest(): boolean {
    const isCopied = this.#outgoing.socket instanceof TLSSocket;
    if (isCopied && this.#state === 'under way' && this.#written === this.#body.length) this.#end();
    if (this.#state === 'done') return false;
    this.#state = 'unwanted';
    this.#outgoing.destroy();
    return true;
  }

  /** The client reads nothing of the answer. An upstream that cannot send it on may take nothing meanwhile. */
  hold(): void {
    this.#isHeld = true;
    this.#patience.pause();
  }

  /** The client reads again, and the time of the upstream starts again. */
  goOn(): void {
    this.#isHeld = false;
    if (this.#isWriting) this.#patience.start();
  }

  /** The exchange is over. */
  stop(): void {
    this.#patience.end();
  }

  /** Anything a kept connection brought before it was asked may be the start of a farewell, and is no answer. */
  #mayWrite(): boolean {
    const { destroyed, reusedSocket, socket } = this.#outgoing;
    if (destroyed) return false;
    if (this.#relay.hasLeft || !reusedSocket || socket?.bytesRead === this.#broughtBefore) return true;
    this.#relay.breakOff(new NonsenseAnswer('it spoke before it was asked'));
    return false;
  }

  /** Resolves when the kernel has the bytes, or nobody will take them any more: they are not ours to keep. */
  #write(chunk: Buffer): Promise<void> {
    this.#relay.requestLeaves();
    this.#written += chunk.length;
    this.#isWriting = true;
    if (!this.#isHeld) this.#patience.start();
    return new Promise((resolve) => {
      this.#outgoing.write(chunk, () => {
        this.#isWriting = false;
        this.#patience.pause();
        resolve();
      });
    });
  }

  #end(): void {
    this.#outgoing.end();
    this.#state = 'done';
    this.#relay.requestSent();
  }
}
