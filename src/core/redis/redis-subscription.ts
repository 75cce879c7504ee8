import { Cluster, Redis } from 'ioredis';
import { reconnect, type RedisClient } from './redis-client';

export interface SubscriptionHandlers {
  onMessage(message: string): void;
  /** The subscription is active. Messages published before, or during a disconnect, are lost. */
  onListening(): void;
}

/** Delay before the next attempt, which may reach another cluster node. */
const NEXT_NODE_DELAY_MS = 250;

/**
 * One channel on a separate connection, because a subscribed connection cannot run other commands. Callers never depend
 * on Redis: each subscriber has a slower fallback for lost messages.
 */
export class RedisSubscription {
  private readonly channel: string;
  private readonly name: string;
  private connection: Redis | null = null;
  private retry: NodeJS.Timeout | undefined;
  private isStopped = false;
  /**
   * A demoted server keeps the sockets of subscribers open, but they receive nothing more. The shared connection
   * notices the failover, because it writes, and is ready again once it has reached the new primary.
   */
  private readonly follow = (): void => {
    if (this.connection !== null) reconnect(this.connection);
  };
  /** Leaves a node that hangs or was removed from the cluster: it receives no more messages. */
  private readonly leave = (gone: Redis): void => {
    const { host, port } = this.connection?.options ?? {};
    if (gone.options.host === host && gone.options.port === port) this.connection?.disconnect();
  };

  constructor(
    private readonly redis: RedisClient,
    channel: string,
    private readonly handlers: SubscriptionHandlers,
  ) {
    this.channel = `${redis.options.keyPrefix ?? ''}${channel}`;
    this.name = `gateway ${channel}`;
  }

  start(): void {
    if (this.redis instanceof Cluster) {
      this.redis.on('-node', this.leave);
      this.openNode(this.redis);
      return;
    }
    const options = { connectionName: this.name, lazyConnect: true, autoResubscribe: false, commandTimeout: undefined };
    this.openConnection(this.redis.duplicate(options));
    this.redis.on('ready', this.follow);
  }

  stop(): void {
    this.isStopped = true;
    clearTimeout(this.retry);
    this.redis.off('ready', this.follow);
    this.redis.off('-node', this.leave);
    this.connection?.disconnect();
  }

  /**
   * Any node of a cluster receives all messages. `ioredis` would move a subscription to another node by itself,
   * but would not report that messages were lost in between.
   */
  private openNode(cluster: Cluster): void {
    if (this.isStopped) return;
    const nodes = cluster.nodes();
    const node = nodes[Math.floor(Math.random() * nodes.length)];
    if (node === undefined) {
      this.openNodeLater(cluster);
      return;
    }
    const { host, port, username, password, tls, connectTimeout, disconnectTimeout } = node.options;
    const connection = new Redis({
      host,
      port,
      username,
      password,
      tls,
      connectTimeout,
      disconnectTimeout,
      connectionName: this.name,
      lazyConnect: true,
      autoResubscribe: false,
      retryStrategy: () => null,
    });
    connection.once('end', () => this.openNodeLater(cluster));
    this.openConnection(connection);
  }

  private openNodeLater(cluster: Cluster): void {
    clearTimeout(this.retry);
    this.retry = setTimeout(() => this.openNode(cluster), NEXT_NODE_DELAY_MS).unref();
  }

  private openConnection(connection: Redis): void {
    this.connection = connection;
    connection.on('message', (_channel, message) => this.handlers.onMessage(message));
    connection.on('ready', () => void this.subscribe(connection));
    // The connection retries indefinitely, and the shared one reports Redis outages.
    connection.on('error', () => undefined);
    connection.connect().catch(() => undefined);
  }

  private async subscribe(connection: Redis): Promise<void> {
    try {
      await connection.subscribe(this.channel);
    } catch {
      // Disconnected again in the meantime: the next `ready` subscribes again.
      return;
    }
    this.handlers.onListening();
  }
}
