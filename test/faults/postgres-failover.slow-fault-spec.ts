import { endChildren } from '../harness/child-process';
import { FaultProxy } from '../harness/fault-proxy';
import { GatewayProcess } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { chatBody, ChatLoad, type Exchange, summarize } from './chat-load';
import { allowedMs, report, until } from './figures';
import { type Customer, Operator } from './operator';
import { PostgresProcess } from './postgres-process';

const CALLERS = 8;
const CALLS_BEFORE = 50;

describe('a failover of PostgreSQL that leaves the connections to the old primary open', () => {
  let primary: PostgresProcess;
  let standby: PostgresProcess;
  let address: FaultProxy;
  let gateway: GatewayProcess;
  let customer: Customer;

  beforeAll(async () => {
    primary = await PostgresProcess.create();
    standby = await primary.createStandby();
    address = await FaultProxy.start(primary.url);
    gateway = await GatewayProcess.start({
      databaseUrl: address.url,
      redisUrl: createTestRedis().url,
      environment: { MOCK_PROVIDER: 'true' },
    });
    const operator = await Operator.connect(primary.url);
    customer = await operator.customer();
    await operator.close();
  });
  afterAll(async () => {
    await gateway.stop();
    await address.close();
    await Promise.all([primary.remove(), standby.remove()]);
    await endChildren();
  });

  it('charges again within 5 s of the new primary, each request at most once, and the dashboard works', async () => {
    const body = chatBody('tokens=5');
    const load = new ChatLoad(CALLERS, () => ({ url: gateway.url, key: customer.key, body }));
    const served = (): Exchange[] => load.exchanges.filter(({ outcome }) => outcome === 'complete');
    await until('charges before the failover', 30_000, () => served().length >= CALLS_BEFORE);
    await demote(primary, standby);
    await promote(standby);
    const promotedAtMs = performance.now();
    address.redirect(standby.url);
    const isAfter = ({ startedAtMs }: Exchange): boolean => startedAtMs > promotedAtMs;
    await until('a charge on the new primary', 5_000, () => served().some(isAfter));
    const chargedAfterMs =
      Math.min(
        ...served()
          .filter(isAfter)
          .map(({ endedAtMs }) => endedAtMs),
      ) - promotedAtMs;
    await until('more of them', 30_000, () => served().filter(isAfter).length >= CALLS_BEFORE);
    const exchanges = await load.stop();
    report('failover of PostgreSQL', { chargedAfterMs: Math.round(chargedAfterMs), ...summarize(exchanges) });
    expect(chargedAfterMs).toBeLessThan(allowedMs(5_000));

    const operator = await Operator.connect(standby.url);
    const charges = await operator.charges(customer.organizationId);
    for (const { requestId, costMicro } of served()) expect(charges.get(requestId ?? '')).toBe(costMicro);
    expect(await operator.violations()).toEqual([]);
    await operator.close();
    expect(exchanges.filter(({ outcome }) => outcome === 'hung' || outcome === 'broken')).toEqual([]);
    expect(await gateway.probe()).toBe(200);
  });
});

/** Makes all sessions of the server read-only, as a demotion does, and waits until the standby has its last commit. */
async function demote(primary: PostgresProcess, standby: PostgresProcess): Promise<void> {
  const old = await Operator.connect(primary.url);
  const next = await Operator.connect(standby.url);
  await old.rows('ALTER SYSTEM SET default_transaction_read_only = on');
  await old.rows('SELECT pg_reload_conf()');
  await until('the end of all writes', 30_000, async () => {
    const [row] = await old.rows<{ count: string }>(
      `SELECT count(*) FROM pg_stat_activity WHERE backend_xid IS NOT NULL OR current_setting('default_transaction_read_only') = 'off'`,
    );
    return row?.count === '0';
  });
  const [end] = await old.rows<{ lsn: string }>('SELECT pg_current_wal_flush_lsn() AS lsn');
  await until('the replication of the last commit', 30_000, async () => {
    const [row] = await next.rows<{ done: boolean }>('SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn AS done', [
      end?.lsn,
    ]);
    return row?.done === true;
  });
  await Promise.all([old.close(), next.close()]);
}

async function promote(standby: PostgresProcess): Promise<void> {
  const operator = await Operator.connect(standby.url);
  await operator.rows('SELECT pg_promote()');
  await operator.close();
}
