import type { ServerResponse } from 'node:http';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';

/** How long work continues for a disconnected client that may retry with its key (decision *disconnect*). */
const FINISH_WITHIN_MS = 120_000;

/** Tracks whether the client is connected or may retry, so that unwanted work is aborted. */
export interface ClientPresence {
  /** Aborted when the client has disconnected and no retry is expected. */
  readonly signal: AbortSignal;
  /** Whether the client disconnected before the response was complete. */
  readonly gone: boolean;
  /** The response cannot be stored for a retry: a disconnect, past or future, aborts the work at once. */
  disableRetryGrace(): void;
  /** The work is done; a later disconnect aborts nothing. */
  end(): void;
}

@Injectable()
export class ClientWatch implements BeforeApplicationShutdown {
  private readonly awaitingRetry = new Set<Presence>();
  private stopping = false;

  /** With `mayRetry`, work continues for a grace period after a disconnect: the client can retry with its key. */
  watch(response: ServerResponse, mayRetry: boolean): ClientPresence {
    const presence = new Presence(mayRetry && !this.stopping ? this.awaitingRetry : null);
    // A client that disconnected during admission has already emitted `close`.
    if (response.destroyed) presence.leave();
    else {
      response.on('close', () => {
        if (!response.writableFinished) presence.leave();
      });
    }
    return presence;
  }

  /** Connections are about to be closed: aborts and settles the work of disconnected clients. */
  beforeApplicationShutdown(): void {
    this.stopping = true;
    for (const presence of this.awaitingRetry) presence.disableRetryGrace();
  }
}

class Presence implements ClientPresence {
  gone = false;
  private readonly controller = new AbortController();
  private deadline: NodeJS.Timeout | undefined;
  private ended = false;

  /** @param awaitingRetry set that holds this entry while its work may outlive the connection; `null`: never */
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
    else this.deadline = setTimeout(() => this.disableRetryGrace(), FINISH_WITHIN_MS);
  }

  disableRetryGrace(): void {
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
