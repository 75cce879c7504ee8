import type { Pool } from 'pg';
import type { DataSource } from 'typeorm';
import { API_KEY_ORDERS, type ApiKeyFilter, listKeys } from '../../../src/auth/api-keys/api-key-list';
import { ApiKeyReader } from '../../../src/auth/api-keys/api-key.reader';
import { ApiKeyEntity } from '../../../src/core/database/entities/api-key.entity';
import { systemClock } from '../../../src/core/time/clock';
import { allowedMs, report } from '../../faults/figures';
import { openDataSource } from '../../harness/data-source';
import { createTestDatabase, createTestPool, type TestDatabase } from '../../harness/database';

/** The most that an operator can allow. */
const KEYS = 10_000;
const OTHER_KEYS = 90_000;
const LIMIT = 100;

const ADD_KEYS = `
  INSERT INTO api_key (organization_id, name, digest, prefix, last4, created_at)
  SELECT $1::uuid, 'application ' || n, sha256(convert_to($1::text || n, 'UTF8')), 'sk-llm-' || lpad(to_hex(n), 4, '0'),
         lpad(to_hex(n), 4, 'z'), now() - make_interval(secs => n)
    FROM generate_series(1, $2::int) n`;
/** Each key of the organization was used on five days of this month. */
const ADD_USE = `
  INSERT INTO spend_window (organization_id, scope, scope_id, window_start, spent_micro)
  SELECT organization_id, 2, id, date_trunc('month', now() AT TIME ZONE 'UTC')::date + day, 1
    FROM api_key, generate_series(0, 4) day WHERE organization_id = $1
  UNION ALL
  SELECT organization_id, 3, id, date_trunc('month', now() AT TIME ZONE 'UTC')::date, get_byte(digest, 0)
    FROM api_key WHERE organization_id = $1`;

interface PlanNode {
  readonly 'Relation Name'?: string;
  readonly 'Node Type': string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

const FILTERS: readonly ApiKeyFilter[] = [
  ...API_KEY_ORDERS.map((order) => ({ order, revoked: false })),
  ...API_KEY_ORDERS.map((order) => ({ order, revoked: false, search: '99' })),
  { search: 'nothing matches' },
  { search: 'sk-llm-270f' },
];

describe('the list of 10,000 API keys', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  let pool: Pool;
  let organizationId: string;

  beforeAll(async () => {
    database = await createTestDatabase();
    dataSource = await openDataSource(database.url, 1);
    pool = createTestPool(database.url, 1);
    const { rows } = await pool.query<{ id: string }>(
      "INSERT INTO organization (name) VALUES ('large'), ('other') RETURNING id",
    );
    organizationId = rows[0]?.id ?? '';
    await pool.query(ADD_KEYS, [organizationId, KEYS]);
    await pool.query(ADD_KEYS, [rows[1]?.id, OTHER_KEYS]);
    await pool.query(ADD_USE, [organizationId]);
    await pool.query('VACUUM (ANALYZE) api_key, spend_window');
  }, 300_000);

  afterAll(async () => {
    await pool.end();
    await dataSource.destroy();
    await database.drop();
  });

  it.each(FILTERS)('is read for $order, $search, in moments and only from its organization', async (filter) => {
    const reader = new ApiKeyReader(dataSource, systemClock);
    const startedAt = performance.now();
    const first = await reader.page(organizationId, filter, { limit: LIMIT, cursor: null });
    const firstMs = performance.now() - startedAt;
    report('first page of 10,000 keys', { ...filter, keys: first.items.length, ms: Math.round(firstMs) });
    expect(firstMs).toBeLessThan(allowedMs(1000));
    if (first.nextCursor !== null) {
      const second = await reader.page(organizationId, filter, { limit: LIMIT, cursor: first.nextCursor });
      const ids = [...first.items, ...second.items].map(({ record }) => record.id);
      expect(new Set(ids).size).toBe(LIMIT + second.items.length);
    }
    for (const cursor of [null, first.nextCursor]) {
      const keys = dataSource.getRepository(ApiKeyEntity);
      const query = listKeys(keys, organizationId, filter, cursor, new Date());
      const [text, parameters] = query.limit(LIMIT + 1).getQueryAndParameters();
      const [row] = await dataSource.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }[]>(
        `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
        parameters,
      );
      const plan = row?.['QUERY PLAN'][0]?.Plan;
      // A cursor by name reads the key that it names.
      expect(rowsRead(plan, 'api_key')).toBeLessThanOrEqual(KEYS + 1);
      expect(scans(plan, 'spend_window')).not.toContain('Seq Scan');
    }
  });
});

const nodesOf = (node: PlanNode | undefined, table: string): PlanNode[] =>
  node === undefined
    ? []
    : [
        ...(node['Relation Name'] === table ? [node] : []),
        ...(node.Plans ?? []).flatMap((below) => nodesOf(below, table)),
      ];

const scans = (plan: PlanNode | undefined, table: string): string[] =>
  nodesOf(plan, table).map((node) => node['Node Type']);

const rowsRead = (plan: PlanNode | undefined, table: string): number =>
  nodesOf(plan, table).reduce(
    (sum, node) => sum + node['Actual Loops'] * (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)),
    0,
  );
