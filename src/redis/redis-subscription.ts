import type { Redis } from 'ioredis';

export interface SubscriptionHandlers {
  onMessage(message: string): void;
  /** The channel is heard from now on. What was published before, or while the connection was gone, is lost. */
  onListening(): void;
}

/**
 * One channel on a connection of its own, since a subscribed one can do no more. Nobody waits for Redis here: whoever
 * subscribes has another, slower way to notice what a lost message would have said.
 */
export class RedisSubscription {
  private readonly connection: Redis;

  constructor(
    redis: Redis,
    private readonly channel: string,
    private readonly handlers: SubscriptionHandlers,
  ) {
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
    // The connection tries again for ever, and the shared one reports that Redis is away.
    this.connection.on('error', () => undefined);
    this.connection.connect().catch(() => undefined);
  }

  stop(): void {
    this.connection.disconnect();
  }

  private async subscribe(): Promise<void> {
    try {
      await this.connection.subscribe(this.channel);
    } catch {
      // Lost again in the meantime: the next `ready` brings us back.
      return;
    }
    this.handlers.onListening();
  }
}
