import type { ServerResponse } from 'node:http';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';

/** How long an answer is finished for a client that has left and may ask for it again (decision *disconnect*). */
const FINISH_WITHIN_MS = 120_000;

/** Follows whether anybody waits for an answer, or will ask for it, so that work for nobody stops. */
export interface ClientPresence {
  /** Aborted when the work is for nobody any more. */
  readonly signal: AbortSignal;
  /** Whether the connection closed before the answer was complete. */
  readonly gone: boolean;
  /** The answer cannot be kept for a retry: a client that leaves, or has left, ends the work at once. */
  expectNoRetry(): void;
  /** The work is done; nothing needs to be stopped any more. */
  end(): void;
}

@Injectable()
export class ClientWatch implements BeforeApplicationShutdown {
  private readonly awaitingRetry = new Set<Presence>();
  private stopping = false;

  /** With `mayRetry` the work goes on for a while after the client has left: it has a key to come back with. */
  watch(response: ServerResponse, mayRetry: boolean): ClientPresence {
    const presence = new Presence(mayRetry && !this.stopping ? this.awaitingRetry : null);
    // The client may have left during admission, in which case `close` has come and gone.
    if (response.destroyed) presence.leave();
    else {
      response.on('close', () => {
        if (!response.writableFinished) presence.leave();
      });
    }
    return presence;
  }

  /** The connections are about to be cut. What has not been finished by now is settled as it is. */
  beforeApplicationShutdown(): void {
    this.stopping = true;
    for (const presence of this.awaitingRetry) presence.expectNoRetry();
  }
}

class Presence implements ClientPresence {
  gone = false;
  private readonly controller = new AbortController();
  private deadline: NodeJS.Timeout | undefined;
  private ended = false;

  /** @param awaitingRetry where this one is listed as long as its work outlives its client; `null`: never */
  constructor(private awaitingRetry: Set<Presence> | null) {
    awaitingRetry?.add(this);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  leave(): void {
    this.gone = true;
    if (this.ended) return;
    if (this.awaitingRetry === null) this.controller.abort();
    else this.deadline = setTimeout(() => this.expectNoRetry(), FINISH_WITHIN_MS);
  }

  expectNoRetry(): void {
    this.stopWaiting();
    this.awaitingRetry = null;
    if (this.gone) this.controller.abort();
  }

  end(): void {
    this.ended = true;
    this.stopWaiting();
  }

  private stopWaiting(): void {
    clearTimeout(this.deadline);
    this.awaitingRetry?.delete(this);
  }
}
