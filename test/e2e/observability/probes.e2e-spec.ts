import { ManagementServer } from '../../../src/http/management-server';
import { createTestRedis } from '../../harness/redis';
import { describeWith } from '../../harness/external-program';
import { FaultProxy } from '../../harness/fault-proxy';
import { TestGateway } from '../../harness/gateway';
import { RedisServer } from '../../harness/redis-servers';
import { until } from '../../faults/figures';

interface Probes {
  readonly live: number;
  readonly serving: number;
  readonly ready: number;
  /** The checks of `/ready` that failed. */
  readonly failed: readonly string[];
}

const ALL_UP: Probes = { live: 200, serving: 200, ready: 200, failed: [] };

/** An outage that all replicas share makes none of them leave the load balancer: only `/ready` shows it. */
const without = (...failed: string[]): Probes => ({ live: 200, serving: 200, ready: 503, failed });

async function readProbes(url: string): Promise<Probes> {
  const [live, serving, ready] = await Promise.all([
    fetch(`${url}/live`),
    fetch(`${url}/serving`),
    fetch(`${url}/ready`),
  ]);
  const { checks } = (await ready.json()) as { checks: Record<string, string> };
  await Promise.all([live.text(), serving.text()]);
  const failed = Object.keys(checks).filter((name) => checks[name] === 'failed');
  return { live: live.status, serving: serving.status, ready: ready.status, failed };
}

async function untilProbesAre(url: string, expected: Probes): Promise<void> {
  let probes: Probes | null = null;
  const isSo = async (): Promise<boolean> => {
    probes = await readProbes(url);
    return JSON.stringify(probes) === JSON.stringify(expected);
  };
  await until('the expected probes', 20_000, isSo).catch(() => undefined);
  expect(probes).toEqual(expected);
}

describe('the probes of the management port', () => {
  let postgres: FaultProxy;
  let redis: FaultProxy;
  let gateway: TestGateway;
  let url: string;

  beforeAll(async () => {
    redis = await FaultProxy.start(createTestRedis().url);
    gateway = await TestGateway.start({ REDIS_URL: redis.url }, undefined, async (databaseUrl) => {
      postgres = await FaultProxy.start(databaseUrl);
      return postgres.url;
    });
    url = await gateway.app.get(ManagementServer, { strict: false }).listen('127.0.0.1', 0);
  });
  afterAll(async () => {
    await gateway.app.get(ManagementServer, { strict: false }).close();
    await gateway.stop();
    await Promise.all([postgres.close(), redis.close()]);
  });
  beforeEach(() => untilProbesAre(url, ALL_UP));
  afterEach(() => {
    postgres.heal();
    redis.heal();
  });

  it('show an outage of PostgreSQL in /ready only', async () => {
    postgres.cutOff();
    await untilProbesAre(url, without('postgres'));
  });

  it('show an outage of Redis in /ready only', async () => {
    redis.cutOff();
    await untilProbesAre(url, without('redis'));
  });

  it('show outages of both in /ready only', async () => {
    postgres.cutOff();
    redis.cutOff();
    await untilProbesAre(url, without('postgres', 'redis'));
  });
});

describeWith('redis-server', () => {
  it('shows in /ready only that Redis answers but cannot run the limit script', async () => {
    const redis = await RedisServer.start(['maxmemory-policy noeviction']);
    const gateway = await TestGateway.start({ REDIS_URL: redis.url });
    const management = gateway.app.get(ManagementServer, { strict: false });
    const url = await management.listen('127.0.0.1', 0);
    await untilProbesAre(url, ALL_UP);
    await redis.client.config('SET', 'maxmemory', '1');
    expect(await redis.client.ping()).toBe('PONG');
    await untilProbesAre(url, without('redis'));
    await redis.client.config('SET', 'maxmemory', '0');
    await untilProbesAre(url, ALL_UP);
    await management.close();
    await gateway.stop();
    await redis.remove();
  });
});
