import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { createDataSource } from '../../../src/core/database/data-source';
import { reportMissingLimits } from '../../../src/core/database/role-limits';
import { createTestDatabase, queryServer, type TestDatabase } from '../../harness/database';
import { TestGateway } from '../../harness/gateway';
import { PGBOUNCER_IS_INSTALLED, type RunningPgBouncer, startPgBouncer } from '../../harness/pgbouncer';
import { systemClock } from '../../../src/core/time/clock';

const CHAT = { model: 'mock/chat-1', messages: [{ role: 'user', content: 'Hello' }] };
const CALLS = 40;

const whenInstalled = PGBOUNCER_IS_INSTALLED ? describe : describe.skip;

whenInstalled('a gateway behind PgBouncer in transaction mode (skipped where pgbouncer is not installed)', () => {
  let pooler: RunningPgBouncer;
  let gateway: TestGateway;

  beforeAll(async () => {
    pooler = await startPgBouncer(process.env.TEST_DATABASE_URL ?? '', 2);
    const environment: Record<string, string> = {};
    gateway = await TestGateway.start(environment, systemClock, async (url) => {
      environment.DATABASE_DIRECT_URL = url;
      return pooler.urlOf(url);
    });
  });
  afterAll(async () => {
    await gateway.stop();
    await pooler.stop();
  });

  it('charges concurrent requests exactly once each', async () => {
    const customer = await gateway.customer();
    const replies = await Promise.all(
      Array.from({ length: CALLS }, (_, call) =>
        gateway.call('/v1/chat/completions', {
          key: customer.key,
          body: CHAT,
          headers: { 'idempotency-key': `call-${call}` },
        }),
      ),
    );
    expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: CALLS }, () => 200));
    const [charges] = await gateway.rows<{ count: string }>(
      `SELECT count(*) FROM reservation WHERE organization_id = $1 AND state = 'settled'`,
      [customer.organizationId],
    );
    expect(Number(charges?.count)).toBe(CALLS);
    expect(await gateway.violations()).toEqual([]);
  });

  it('serves keys, members, usage and the ledger to the dashboard', async () => {
    const user = await gateway.dashboardUser();
    const created = await user.call(user.path('/keys'), { body: { name: 'ci' } });
    expect(created.status).toBe(201);
    for (const list of [
      '/keys',
      '/members',
      '/usage/requests',
      '/usage/series',
      '/billing/balance',
      '/billing/ledger',
    ]) {
      expect({ list, status: (await user.call(user.path(list))).status }).toEqual({ list, status: 200 });
    }
  });

  it('leaves no session state on a server connection: no setting, no lock, no prepared statement', async () => {
    const server = new Client({ connectionString: pooler.urlOf(gateway.database.url) });
    await server.connect();
    for (let attempt = 0; attempt < 4; attempt++) {
      const { rows } = await server.query(
        `SELECT (SELECT count(*)::int FROM pg_prepared_statements) AS statements,
                (SELECT count(*)::int FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()) AS locks,
                (SELECT count(*)::int FROM pg_settings WHERE source = 'session'
                    AND name IN ('lock_timeout', 'statement_timeout', 'search_path')) AS settings`,
      );
      expect(rows).toEqual([{ statements: 0, locks: 0, settings: 0 }]);
    }
    await server.end();
  });
});

describe('the limits of a role behind a pooler', () => {
  let database: TestDatabase;
  const role = `limited_${randomUUID().replaceAll('-', '')}`;

  beforeAll(async () => {
    database = await createTestDatabase();
    await queryServer(`CREATE ROLE ${role} LOGIN PASSWORD 'only-for-tests'`);
    // The embedded server runs without.
    await queryServer(`ALTER ROLE ${role} SET jit = on`);
  });
  afterAll(async () => {
    await database.drop();
    await queryServer(`DROP ROLE ${role}`);
  });

  /** What a start logs. */
  async function warnings(): Promise<{ event: string; message: string }[]> {
    const url = new URL(database.url);
    url.username = role;
    url.password = 'only-for-tests';
    const dataSource = await createDataSource({ url: url.href, poolSize: 1, isPooled: true }).initialize();
    const logged: { event: string; message: string }[] = [];
    await reportMissingLimits(dataSource, { warn: (line) => logged.push(line) });
    await dataSource.destroy();
    return logged;
  }

  it('are missed with the statements that set them, until they are set', async () => {
    const [warning, ...others] = await warnings();
    expect(others).toEqual([]);
    expect(warning?.event).toBe('database_limits_missing');
    const statements = warning?.message.match(/ALTER ROLE [^;]+;/g) ?? [];
    expect(statements).toHaveLength(3);
    for (const statement of statements) await queryServer(statement);
    expect(await warnings()).toEqual([]);
  });
});
