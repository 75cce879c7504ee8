import type { Redis } from 'ioredis';

export interface SubscriptionHandlers {
  onMessage(message: string): void;
  /** The subscription is active. Messages published before, or during a disconnect, are lost. */
  onListening(): void;
}

/**
 * One channel on a separate connection, because a subscribed connection cannot run other commands. Callers never depend
 * on Redis: each subscriber has a slower fallback for lost messages.
 */
export class RedisSubscription {
  private readonly connection: Redis;
  private readonly channel: string;
  /**
   * A demoted server keeps the sockets of subscribers, which receive nothing more. The shared connection notices, since it
   * writes, and is ready again when it has reached the new primary.
   */
  private readonly follow = (): void => this.connection.disconnect(true);

  constructor(
    private readonly redis: Redis,
    channel: string,
    private readonly handlers: SubscriptionHandlers,
  ) {
    this.channel = `${redis.options.keyPrefix ?? ''}${channel}`;
    this.connection = redis.duplicate({
      connectionName: `gateway ${channel}`,
      lazyConnect: true,
      autoResubscribe: false,
      commandTimeout: undefined,
    });
  }

  start(): void {
    this.connection.on('message', (_channel, message) => this.handlers.onMessage(message));
    this.connection.on('ready', () => void this.subscribe());
    // The connection retries indefinitely, and the shared one reports Redis outages.
    this.connection.on('error', () => undefined);
    this.connection.connect().catch(() => undefined);
    this.redis.on('ready', this.follow);
  }

  stop(): void {
    this.redis.off('ready', this.follow);
    this.connection.disconnect();
  }

  private async subscribe(): Promise<void> {
    try {
      await this.connection.subscribe(this.channel);
    } catch {
      // Disconnected again in the meantime: the next `ready` subscribes again.
      return;
    }
    this.handlers.onListening();
  }
}
