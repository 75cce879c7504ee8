import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { DataSource } from 'typeorm';
import { createDataSource } from '../../../src/core/database/data-source';
import type { Page } from '../../../src/core/types/page';
import {
  type AuditFilter,
  type AuditLogEntry,
  AuditLogReader,
} from '../../../src/dashboard/organizations/audit-log.reader';
import { createTestDatabase, createTestPool, type TestDatabase } from '../../harness/database';
import { FULL } from '../../faults/figures';

const ENTRIES = FULL ? 1_000_000 : 50_000;
const LIMIT = 50;
const BEGIN_MS = Date.UTC(2026, 0, 1);
const MINUTE_MS = 60_000;
const DAY_MINUTES = 1_440;

const organizationId = randomUUID();
const userIds = Array.from({ length: 10 }, () => randomUUID());
const atMinute = (minute: number): Date => new Date(BEGIN_MS + minute * MINUTE_MS);

/** A change a minute, some by the command line or by staff; one action was done but once, long ago. */
const INSERT = `
  INSERT INTO audit_entry (organization_id, actor_kind, actor_user_id, action, target_type, target_id, created_at)
  SELECT $1, CASE WHEN i % 5 = 0 THEN 'command' WHEN i % 7 = 0 THEN 'operator' ELSE 'user' END, CASE WHEN i % 5 <> 0 THEN ($2::uuid[])[1 + i % 9] END,
         CASE WHEN i = 7 THEN 'organization.renamed' ELSE ('{key.created,key.updated,member.added}'::text[])[1 + i % 3] END,
         'key', i::text, $3::timestamptz + i * interval '1 minute'
    FROM generate_series(1, $4::integer) i`;

const FILTERS: readonly (readonly [string, AuditFilter])[] = [
  ['everything', {}],
  ['a common action', { action: 'key.created' }],
  ['an action of long ago', { action: 'organization.renamed' }],
  ['an action without entries', { action: 'key.none' }],
  ['one user', { actorUserId: userIds[3] }],
  ['a user who did nothing', { actorUserId: userIds[9] }],
  ['a rare action of one user', { actorUserId: userIds[3], action: 'organization.renamed' }],
  ['the first day', { to: atMinute(DAY_MINUTES) }],
  ['a day in the middle', { from: atMinute(ENTRIES / 2), to: atMinute(ENTRIES / 2 + DAY_MINUTES) }],
  ['one user on the first day', { actorUserId: userIds[3], to: atMinute(DAY_MINUTES) }],
  ['one action on the first day', { action: 'key.updated', to: atMinute(DAY_MINUTES) }],
];

type Read = (reader: AuditLogReader, filter: AuditFilter, cursor: string | null) => Promise<Page<AuditLogEntry>>;

const READERS: readonly (readonly [string, Read])[] = [
  ['members', (reader, filter, cursor) => reader.page(organizationId, filter, { limit: LIMIT, cursor })],
  ['staff', (reader, filter, cursor) => reader.pageForStaff(organizationId, filter, { limit: LIMIT, cursor })],
  ['staff, of the platform', (reader, filter, cursor) => reader.pageForStaff(null, filter, { limit: LIMIT, cursor })],
];

const CASES = READERS.flatMap(([whom, read]) => FILTERS.map(([name, filter]) => [whom, name, read, filter] as const));

interface PlanNode {
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

describe('the audit log of an organization with many entries', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  let pool: Pool;
  let reader: AuditLogReader;

  beforeAll(async () => {
    database = await createTestDatabase();
    dataSource = await createDataSource({ url: database.url, poolSize: 2 }).initialize();
    pool = createTestPool(database.url, 1);
    await pool.query(INSERT, [organizationId, userIds, new Date(BEGIN_MS), ENTRIES]);
    await pool.query(INSERT, [null, userIds, new Date(BEGIN_MS), ENTRIES]);
    // Newer than all of them.
    await pool.query(INSERT, [randomUUID(), userIds, atMinute(ENTRIES), ENTRIES / 5]);
    await pool.query('VACUUM (ANALYZE) audit_entry');
    reader = new AuditLogReader(dataSource);
  }, 300_000);

  afterAll(async () => {
    await pool.end();
    await dataSource.destroy();
    await database.drop();
  });

  it.each(CASES)('reads little for %s: %s, at the beginning and further on', async (_whom, _name, read, filter) => {
    const statements: [string, unknown[]][] = [];
    const spy = jest.spyOn(dataSource, 'query').mockImplementation(function (this: DataSource, ...call) {
      statements.push([call[0], call[1] as unknown[]]);
      return DataSource.prototype.query.apply(this, call);
    });
    const first = await read(reader, filter, null);
    if (first.nextCursor !== null) await read(reader, filter, first.nextCursor);
    spy.mockRestore();
    for (const [text, parameters] of statements) {
      const [row] = await dataSource.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }[]>(
        `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
        parameters,
      );
      // A whole day may be sorted.
      expect(entriesRead(row?.['QUERY PLAN'][0]?.Plan)).toBeLessThanOrEqual(DAY_MINUTES);
    }
  });

  it('lists what fits a filter once, newest first, also where many entries have the same time', async () => {
    const organization = randomUUID();
    const times = [1, 1, 2, 1, 2, 3, 3, 1, 2, 3];
    for (const minute of times) {
      await pool.query(
        `INSERT INTO audit_entry (organization_id, actor_kind, action, target_type, target_id, created_at)
         VALUES ($1, 'command', 'key.created', 'key', 'x', $2)`,
        [organization, atMinute(minute)],
      );
    }
    const found: string[] = [];
    let cursor: string | null = null;
    do {
      const page = await reader.page(organization, { action: 'key.created' }, { limit: 3, cursor });
      found.push(...page.items.map(({ id }) => id));
      cursor = page.nextCursor;
    } while (cursor !== null);
    const { rows } = await pool.query<{ id: string }>(
      'SELECT id::text FROM audit_entry WHERE organization_id = $1 ORDER BY created_at DESC, id DESC',
      [organization],
    );
    expect(found).toEqual(rows.map(({ id }) => id));
    expect(found).toHaveLength(times.length);
  });
});

/** Rows of the log that a plan has looked at. */
function entriesRead(node: PlanNode | undefined): number {
  if (node === undefined) return 0;
  const own =
    node['Relation Name'] === 'audit_entry'
      ? (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
      : 0;
  return (node.Plans ?? []).reduce((sum, child) => sum + entriesRead(child), own);
}
