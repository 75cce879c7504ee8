/** A real Redis Cluster of one test, which it may break: three primaries, each with a replica. */
import { execFile } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { findFreePort } from './child-process';
import { RedisServer } from './redis-servers';

const run = promisify(execFile);

const SERVERS = 6;
/** After this silence, a server is replaced: for tests that expect it. */
export const QUICK_FAILOVER_MS = 1_000;
/** Longer than a machine stalls. */
const NO_FAILOVER_MS = 60_000;
const POLL_MS = 50;

export class RedisCluster {
  private constructor(readonly servers: readonly RedisServer[]) {}

  static async start(nodeTimeoutMs = NO_FAILOVER_MS): Promise<RedisCluster> {
    const servers: RedisServer[] = [];
    // One by one: each port is free until its server has taken it.
    for (let count = 0; count < SERVERS; count++) {
      const settings = ['cluster-enabled yes', `cluster-node-timeout ${nodeTimeoutMs}`];
      servers.push(await RedisServer.start([...settings, `cluster-port ${await findFreePort()}`]));
    }
    const addresses = servers.map(({ port }) => `127.0.0.1:${port}`);
    await run('redis-cli', ['--cluster', 'create', ...addresses, '--cluster-replicas', '1', '--cluster-yes']);
    const cluster = new RedisCluster(servers);
    for (const server of servers) {
      while (!(await isComplete(server))) await delay(POLL_MS);
    }
    return cluster;
  }

  /** The URL of one server; `others` are enough to find the cluster without it. */
  get url(): string {
    return (this.servers[0] as RedisServer).url;
  }

  get others(): { readonly host: string; readonly port: number; readonly username: null; readonly password: null }[] {
    return this.servers.slice(1).map(({ port }) => ({ host: '127.0.0.1', port, username: null, password: null }));
  }

  /** Settings of a gateway, besides `REDIS_URL`. */
  get environment(): Readonly<Record<string, string>> {
    return {
      REDIS_MODE: 'cluster',
      REDIS_NODES: this.others.map(({ host, port }) => `${host}:${port}`).join(','),
    };
  }

  async slotOf(key: string): Promise<number> {
    return (this.servers[0] as RedisServer).client.cluster('KEYSLOT', key);
  }

  /** The primary of a slot, in the view of a server that runs. */
  async ownerOf(slot: number): Promise<RedisServer> {
    const witness = this.servers.find(({ isRunning }) => isRunning) as RedisServer;
    const ranges = await witness.client.cluster('SLOTS');
    const range = ranges.find(([first, last]) => first <= slot && slot <= last);
    return this.servers.find(({ port }) => port === range?.[2]?.[1]) as RedisServer;
  }

  /** Moves a slot and its keys, as operators do it, and calls `halfway` while both servers have part of the keys. */
  async move(slot: number, halfway: () => Promise<void>): Promise<void> {
    const from = await this.ownerOf(slot);
    const primaries = await Promise.all(this.servers.map((server) => server.isPrimary()));
    const to = this.servers.find((server, index) => primaries[index] === true && server !== from) as RedisServer;
    const [fromId, toId] = await Promise.all([from.client.cluster('MYID'), to.client.cluster('MYID')]);
    await to.client.cluster('SETSLOT', slot, 'IMPORTING', fromId as string);
    await from.client.cluster('SETSLOT', slot, 'MIGRATING', toId as string);
    const moveKeys = async (limit: number): Promise<number> => {
      const keys = await from.client.cluster('GETKEYSINSLOT', slot, limit);
      if (keys.length > 0) await from.client.migrate('127.0.0.1', to.port, '', 0, 5_000, 'KEYS', ...keys);
      return keys.length;
    };
    await moveKeys(1);
    await halfway();
    while ((await moveKeys(100)) > 0);
    for (const server of [to, from]) await server.client.cluster('SETSLOT', slot, 'NODE', toId as string);
  }

  async remove(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.remove()));
  }
}

async function isComplete({ client }: RedisServer): Promise<boolean> {
  const [info, slots] = await Promise.all([client.cluster('INFO'), client.cluster('SLOTS')]);
  const isReplicated = (slots as unknown[][]).every(({ length }) => length === 4);
  return String(info).includes('cluster_state:ok') && isReplicated;
}
