import { Client, type ClientConfig, type DatabaseError } from 'pg';

/** `read_only_sql_transaction`: the server was demoted, or its session was made read-only. */
const READ_ONLY = '25006';
/** A server that stays read-only must not cause a storm of connections. */
const RENEW_EVERY_MS = 1_000;

/**
 * A client class whose connections leave a demoted primary together. The sockets of a demoted primary can stay open:
 * reads would return old data and writes would fail, until each connection had met an error. Instead, the first refused
 * write closes all connections of the class, as if the server had closed them, and the pools open new ones.
 */
export function createFailoverClient(): typeof Client {
  const open = new Set<Client>();
  let renewedAtMs = -Infinity;

  const renew = (refused: Client): void => {
    const nowMs = performance.now();
    const closing = nowMs - renewedAtMs < RENEW_EVERY_MS ? [refused] : open;
    renewedAtMs = nowMs;
    for (const client of closing) client.connection.stream.destroy();
  };

  return class FailoverClient extends Client {
    constructor(config?: string | ClientConfig) {
      super(config);
      open.add(this);
      this.once('end', () => open.delete(this));
      this.connection.on('errorMessage', ({ code }: DatabaseError) => {
        if (code === READ_ONLY) renew(this);
      });
    }
  };
}
