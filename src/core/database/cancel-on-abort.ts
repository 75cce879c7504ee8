import type { Pool, PoolClient } from 'pg';

/** Time for the server to cancel a query before its connection is closed. */
const CANCEL_WAIT_MS = 1_000;

export interface Cancellation {
  /** Closes the connection. */
  destroy(): void;
  /** Returns the connection to the pool. */
  end(): void;
}

/** Cancels what `client` is running when `signal` aborts; closes its connection when the server does not. */
export function cancelOnAbort(pool: Pool, client: PoolClient, signal: AbortSignal): Cancellation {
  let released = false;
  let timer: NodeJS.Timeout | undefined;
  const release = (destroy: boolean): void => {
    if (released) return;
    released = true;
    client.release(destroy);
  };
  const cancel = (): void => {
    const { processID } = client as PoolClient & { readonly processID: number };
    timer = setTimeout(() => release(true), CANCEL_WAIT_MS);
    pool.query('SELECT pg_cancel_backend($1)', [processID]).catch(() => release(true));
  };
  if (signal.aborted) cancel();
  else signal.addEventListener('abort', cancel, { once: true });
  return {
    destroy: () => release(true),
    end: () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', cancel);
      // A pending cancellation must not hit another query on this connection.
      release(signal.aborted);
    },
  };
}
