import type { QueryRunner } from 'typeorm';
import type { Migration } from '../src/core/database/migration-files';

/** Finds the changes of one actor also when it is platform staff. */
export class AuditLogByActor1795400000000 implements Migration {
  readonly name = 'AuditLogByActor1795400000000';
  readonly routines = '913e7b4fd6ce2a51';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX audit_entry_actor_index ON audit_entry (organization_id, actor_user_id, created_at, id)
        WHERE actor_user_id IS NOT NULL`);
    await runner.query('DROP INDEX audit_entry_user_index');
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Write another one, or restore a backup.');
  }
}
