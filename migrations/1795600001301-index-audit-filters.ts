import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The audit log of one organization by time, action and user, each in the order in which it is listed: by ids alone, what is
 * rare or old was found only behind everything newer.
 */
export class IndexAuditFilters1795600001301 implements MigrationInterface {
  readonly name = 'IndexAuditFilters1795600001301';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX audit_entry_time_index ON audit_entry (organization_id, created_at, id);
      CREATE INDEX audit_entry_action_index ON audit_entry (organization_id, action, created_at, id);
      CREATE INDEX audit_entry_user_index ON audit_entry (organization_id, actor_user_id, created_at, id)
        WHERE actor_kind = 'user';
      DROP INDEX audit_entry_organization_index;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX audit_entry_organization_index ON audit_entry (organization_id, id);
      DROP INDEX audit_entry_time_index, audit_entry_action_index, audit_entry_user_index;
    `);
  }
}
