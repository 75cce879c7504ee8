/** Clients of Redis: of one server, of the primary that sentinels name, or of a cluster. */
import { lookup } from 'node:dns';
import { Logger } from '@nestjs/common';
import {
  Cluster,
  type ClusterNode,
  type ClusterOptions,
  type DNSLookupFunction,
  Redis,
  type RedisOptions,
  type SentinelConnectionOptions,
  SentinelConnector,
} from 'ioredis';
import type { AppConfig } from '../config/app-config';
import type { RedisNode } from '../types/redis-node';

/** A client that sends commands. Several keys of one command need the same hash tag: a cluster refuses others. */
export type RedisClient = Redis | Cluster;

/** Defaults for connections without process settings. */
const COMMAND_TIMEOUT_MS = 250;
const CONNECT_TIMEOUT_MS = 1_000;
/** An abandoned socket is closed by then. By default `ioredis`, and so the exit, waits 2 s for a lost server. */
const DISCONNECT_TIMEOUT_MS = 250;
/** Requests must be admitted again within a second after Redis recovers. */
const MAX_RECONNECT_DELAY_MS = 500;
/**
 * Delay before a command is sent again that met a migrating slot or a lost node: several tries fit into its timeout.
 */
const CLUSTER_RETRY_DELAY_MS = 40;
const MAX_REDIRECTIONS = 8;
/** The connection to a server that does not answer for this long is closed; other cluster nodes keep theirs. */
const SILENCE_MS = 1_000;

/** The message of `ioredis` for a command without an answer in time. */
export const COMMAND_TIMED_OUT = 'Command timed out';

const logger = new Logger('Redis');

function reconnectDelayMs(attempt: number): number {
  return Math.min(attempt * 50, MAX_RECONNECT_DELAY_MS);
}

/** What a client needs to know about its servers. */
export type RedisServers = Pick<AppConfig, 'redisSentinels' | 'redisCluster'>;

/** The settings of one client. */
export interface ClientOptions {
  readonly keyPrefix?: string;
  readonly connectionName?: string;
  readonly commandTimeout?: number;
  /** `false`: commands are not sent again after a lost connection, because they may have been executed. */
  readonly repeats?: boolean;
}

/** A client of the configured servers. It connects immediately and reconnects; commands fail while it cannot. */
export function createRedisClient(url: string, servers: RedisServers, options: ClientOptions = {}): RedisClient {
  if (servers.redisCluster === null) {
    const { repeats: _, ...rest } = options;
    return createRedis(url, { ...sentinelOptions(url, servers), ...rest });
  }
  const cluster = new PrefixedCluster(...clusterArguments(url, servers.redisCluster, options));
  logChangesOfState(cluster);
  return cluster;
}

/** Options of a client whose primary is found through sentinels; none otherwise. */
export function sentinelOptions(url: string, { redisSentinels }: Pick<RedisServers, 'redisSentinels'>): RedisOptions {
  if (redisSentinels === null) return {};
  const { hostname, protocol } = new URL(url);
  const hasTls = protocol === 'rediss:';
  return {
    name: hostname,
    sentinels: redisSentinels.map(({ host, port }) => ({ host, port })),
    sentinelUsername: redisSentinels[0]?.username ?? undefined,
    sentinelPassword: redisSentinels[0]?.password ?? undefined,
    ...(hasTls && { sentinelTLS: {}, enableTLSForSentinelMode: true }),
    sentinelCommandTimeout: CONNECT_TIMEOUT_MS,
    sentinelRetryStrategy: reconnectDelayMs,
    // Ends connections to a primary that was replaced but still holds its sockets open.
    failoverDetector: true,
    Connector: PrimaryConnector,
  };
}

/**
 * `ioredis` ends a client permanently if a sentinel announces a failover while the client asks for the new primary.
 * During that time there is no connection to close, so the failover subscriptions of the last connection end first; the
 * next connection has new ones.
 */
class PrimaryConnector extends SentinelConnector {
  constructor(options: unknown) {
    super(options as SentinelConnectionOptions);
  }

  override connect(...[emit]: Parameters<SentinelConnector['connect']>): ReturnType<SentinelConnector['connect']> {
    this.disconnect();
    return super.connect(emit);
  }
}

/**
 * Whether the server executed nothing because it was demoted to a replica or is loading its data. Managed servers keep
 * the socket open in both cases, and only a new connection reaches the primary. In the error of a script, the cause
 * follows the position in the script.
 */
export function isNotPrimary(error: unknown): boolean {
  return error instanceof Error && /\b(?:READONLY|LOADING|MASTERDOWN) /.test(error.message);
}

/**
 * Replaces the connection by a new one. Does nothing while the client is already connecting: while it asks the
 * sentinels for the primary, `ioredis` would end it permanently.
 */
export function reconnect(redis: RedisClient): void {
  if (redis.status !== 'connecting') redis.disconnect(true);
}

/** `ioredis` prefixes keys only; channels belong to one deployment too. */
export class PrefixedRedis extends Redis {
  /** Time of the first timeout since the last answer. */
  private silentSinceMs: number | null = null;

  override publish(...[channel, ...rest]: Parameters<Redis['publish']>): Promise<number> {
    return super.publish(`${this.options.keyPrefix ?? ''}${String(channel)}`, ...rest);
  }

  /**
   * After a stall of the process, as on a throttled CPU, timers run before sockets are read. An answer that has arrived
   * by then still counts.
   */
  override sendCommand(...[command, stream]: Parameters<Redis['sendCommand']>): unknown {
    const { resolve, reject } = command;
    command.resolve = (answer) => {
      this.silentSinceMs = null;
      resolve(answer);
    };
    command.reject = (error) => {
      if (error.message !== COMMAND_TIMED_OUT) return reject(error);
      setImmediate(() => {
        reject(error);
        this.noteTimeout();
      });
    };
    return super.sendCommand(command, stream);
  }

  /** The system notices a server that vanished without closing the connection only after a quarter of an hour. */
  private noteTimeout(): void {
    const nowMs = performance.now();
    this.silentSinceMs ??= nowMs;
    if (nowMs - this.silentSinceMs < SILENCE_MS) return;
    this.silentSinceMs = null;
    reconnect(this);
  }
}

export class PrefixedCluster extends Cluster {
  private isEnded = false;

  constructor(...[nodes, options]: ConstructorParameters<typeof Cluster>) {
    super(nodes, options);
    // `ioredis` connects to a node with its first command, and refuses others until the connection is ready.
    this.on('+node', (node: Redis) => void node.connect().catch(() => undefined));
  }

  /**
   * `ioredis` stops reconnecting for good when the last connection of an earlier attempt closes while it looks up the
   * addresses of the nodes. After any other failure it tries again when this attempt rejects.
   */
  override async connect(): Promise<void> {
    try {
      await super.connect();
    } catch (error) {
      if (this.status === 'close' && !this.isEnded) setTimeout(() => this.connectAgain(), reconnectDelayMs(1));
      throw error;
    }
  }

  override disconnect(reconnects = false): void {
    this.isEnded = !reconnects;
    super.disconnect(reconnects);
  }

  private connectAgain(): void {
    if (!this.isEnded) this.connect().catch(() => undefined);
  }

  override publish(...[channel, ...rest]: Parameters<Cluster['publish']>): Promise<number> {
    return super.publish(`${this.options.keyPrefix ?? ''}${String(channel)}`, ...rest);
  }
}

/** A client of one server, or of the primary that sentinels name. */
export function createRedis(url: string, options: RedisOptions = {}): Redis {
  const redis = new PrefixedRedis(url, {
    connectionName: 'gateway',
    connectTimeout: CONNECT_TIMEOUT_MS,
    disconnectTimeout: DISCONNECT_TIMEOUT_MS,
    commandTimeout: COMMAND_TIMEOUT_MS,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    autoResendUnfulfilledCommands: false,
    retryStrategy: reconnectDelayMs,
    reconnectOnError: isNotPrimary,
    ...options,
  });
  logChangesOfState(redis);
  return redis;
}

/** The seed nodes of a cluster, which name the others, and the options of its client. */
export function clusterArguments(
  url: string,
  nodes: readonly RedisNode[],
  { keyPrefix, connectionName = 'gateway', commandTimeout = COMMAND_TIMEOUT_MS, repeats = true }: ClientOptions,
): [ClusterNode[], ClusterOptions] {
  const first = new URL(url);
  const hasTls = first.protocol === 'rediss:';
  const options: ClusterOptions = {
    keyPrefix,
    enableOfflineQueue: false,
    clusterRetryStrategy: reconnectDelayMs,
    maxRedirections: MAX_REDIRECTIONS,
    retryDelayOnFailover: repeats ? CLUSTER_RETRY_DELAY_MS : 0,
    retryDelayOnClusterDown: CLUSTER_RETRY_DELAY_MS,
    retryDelayOnTryAgain: CLUSTER_RETRY_DELAY_MS,
    redisOptions: {
      username: decodeURIComponent(first.username) || undefined,
      password: decodeURIComponent(first.password) || undefined,
      connectionName,
      commandTimeout,
      connectTimeout: CONNECT_TIMEOUT_MS,
      disconnectTimeout: DISCONNECT_TIMEOUT_MS,
      socketTimeout: Math.max(SILENCE_MS, 2 * commandTimeout),
      maxRetriesPerRequest: 1,
      autoResendUnfulfilledCommands: false,
      ...(hasTls && { tls: {} }),
    },
    // Certificates name hosts, not their addresses (README of ioredis, "Special Note: AWS ElastiCache Clusters with
    // TLS").
    dnsLookup: hasTls ? (host, done) => done(null, host) : lookUpOrKeep,
  };
  return [[addressOf(first), ...nodes.map(toClusterNode)], options];
}

/**
 * The name of a lost server may have no address, as in Kubernetes. `ioredis` would then connect to none of the other
 * nodes; with this lookup, only the connection to that server fails.
 */
const lookUpOrKeep: DNSLookupFunction = (host, done) => {
  lookup(host, (error, address) => done(null, error === null ? address : host));
};

function addressOf({ hostname, port }: URL): ClusterNode {
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 6_379) };
}

/** Credentials of a node take precedence over those of the URL. */
function toClusterNode({ host, port, username, password }: RedisNode): ClusterNode {
  return { host, port, ...(username !== null && { username }), ...(password !== null && { password }) };
}

/** One log line per outage and one per recovery, regardless of the retries in between. */
function logChangesOfState(redis: RedisClient): void {
  let unavailable = false;
  redis.on('error', (error: Error) => {
    if (!unavailable) {
      unavailable = true;
      logger.error({ event: 'redis_unavailable', message: `Redis is unavailable: ${error.message}` });
    }
  });
  redis.on('ready', () => {
    if (unavailable) {
      unavailable = false;
      logger.warn({ event: 'redis_available', message: 'Redis is available again' });
    }
  });
}
