import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import type { ClientConnection } from '../core/types/request-context';

/** How long work continues for a disconnected client that may retry with its key. */
const FINISH_WITHIN_MS = 120_000;

/** Tracks whether the client of a request is connected or may retry, so that unwanted work is aborted. */
export interface TrackedClient {
  /** Aborted when the client has disconnected and no retry is expected. */
  readonly signal: AbortSignal;
  /** Whether the client disconnected before the response was complete. */
  readonly disconnected: boolean;
  /** The response cannot be stored for a retry: a disconnect, past or future, aborts the work at once. */
  disableRetryGrace(): void;
  /** The work is done; a later disconnect aborts nothing. */
  end(): void;
}

@Injectable()
export class DisconnectTracker implements BeforeApplicationShutdown {
  private readonly awaitingRetry = new Set<ConnectedClient>();
  private stopping = false;

  /** With `mayRetry`, work continues for a grace period after a disconnect: the client can retry with its key. */
  track(connection: ClientConnection, mayRetry: boolean): TrackedClient {
    const client = new ConnectedClient(mayRetry && !this.stopping ? this.awaitingRetry : null);
    // A client that disconnected during admission has already closed its connection.
    if (connection.closed) client.disconnect();
    else connection.onDisconnect(() => client.disconnect());
    return client;
  }

  /** Connections are about to be closed: aborts and settles the work of disconnected clients. */
  beforeApplicationShutdown(): void {
    this.stopping = true;
    for (const client of this.awaitingRetry) client.disableRetryGrace();
  }
}

class ConnectedClient implements TrackedClient {
  disconnected = false;
  private readonly controller = new AbortController();
  private deadline: NodeJS.Timeout | undefined;
  private ended = false;

  /** @param awaitingRetry set that holds this entry while its work may outlive the connection; `null`: never */
  constructor(private awaitingRetry: Set<ConnectedClient> | null) {
    awaitingRetry?.add(this);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  disconnect(): void {
    this.disconnected = true;
    if (this.ended) return;
    if (this.awaitingRetry === null) this.controller.abort();
    else this.deadline = setTimeout(() => this.disableRetryGrace(), FINISH_WITHIN_MS);
  }

  disableRetryGrace(): void {
    this.stopWaiting();
    this.awaitingRetry = null;
    if (this.disconnected) this.controller.abort();
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
