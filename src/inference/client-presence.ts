import type { ServerResponse } from 'node:http';

/** Follows whether anybody still waits for an answer, so that work for nobody stops. */
export interface ClientPresence {
  /** Aborted when the connection closes before the answer is complete. */
  readonly signal: AbortSignal;
  /** Whether the client left early. */
  readonly gone: boolean;
}

export function watchClient(response: ServerResponse): ClientPresence {
  const controller = new AbortController();
  // The client may have left during admission, in which case `close` has come and gone.
  if (response.destroyed) controller.abort();
  response.once('close', () => {
    if (!response.writableFinished) controller.abort();
  });
  return {
    signal: controller.signal,
    get gone() {
      return controller.signal.aborted;
    },
  };
}
