import type { DataSource } from 'typeorm';
import { systemClock } from '../../../src/core/time/clock';
import { AuditRetention } from '../../../src/dashboard/organizations/audit-retention';
import { openDataSource } from '../../harness/data-source';
import { createTestDatabase, type TestDatabase } from '../../harness/database';

describe('the retention of the audit log', () => {
  let database: TestDatabase;
  let dataSource: DataSource;

  beforeAll(async () => {
    database = await createTestDatabase();
    dataSource = await openDataSource(database.url, 4);
  });
  afterAll(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  const insert = (target: string, ageDays: number, count = 1) =>
    dataSource.query(
      `INSERT INTO audit_entry (actor_kind, action, target_type, target_id, created_at)
       SELECT 'command', 'key.created', 'key', $1, now() - $2 * interval '1 day' FROM generate_series(1, $3)`,
      [target, ageDays, count],
    );
  const targets = async () => {
    const rows = await dataSource.query<{ target: string; count: number }[]>(
      'SELECT target_id AS target, count(*)::integer AS count FROM audit_entry GROUP BY 1 ORDER BY 1',
    );
    return Object.fromEntries(rows.map(({ target, count }) => [target, count]));
  };
  const retention = (auditRetentionDays: number) => new AuditRetention(dataSource, systemClock, { auditRetentionDays });

  it('deletes older entries in batches, by several processes at once, and keeps them by default', async () => {
    await insert('old', 101, 1_700);
    await insert('kept', 99);

    await retention(0).deleteExpired();
    expect(await targets()).toEqual({ old: 1_700, kept: 1 });

    const sweeps = [retention(100), retention(100)];
    await Promise.all(sweeps.map((sweep) => sweep.deleteExpired()));
    await retention(100).deleteExpired();
    expect(await targets()).toEqual({ kept: 1 });
  });

  it.each([
    ['to delete an entry of the last 90 days', `DELETE FROM audit_entry WHERE target_id = 'young'`],
    ['to change an entry', `UPDATE audit_entry SET action = 'key.revoked' WHERE target_id = 'young'`],
    ['to truncate the log', 'TRUNCATE audit_entry'],
  ])('the database refuses %s', async (_what, statement) => {
    await insert('young', 89);
    await expect(dataSource.query(statement)).rejects.toThrow('the audit log is append-only');
  });
});
