import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The operator's monthly limit and the organization's own are two values, and the lower one holds (decision
 * *spending-limits*). `monthly_limit_micro` stays the limit that the money functions read: whoever writes one of the two
 * writes it too, and a constraint keeps it right.
 *
 * A limit from before belongs to the organization where its last change came from its billing settings, else to the
 * operator.
 */
export class SeparateMonthlyLimits1795700008010 implements MigrationInterface {
  readonly name = 'SeparateMonthlyLimits1795700008010';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE organization_account
        ADD COLUMN operator_monthly_limit_micro bigint,
        ADD COLUMN own_monthly_limit_micro bigint`);
    await runner.query(ASSIGN);
    await runner.query(`
      ALTER TABLE organization_account
        DROP CONSTRAINT organization_account_monthly_limit_check,
        ADD CONSTRAINT organization_account_monthly_limit_check CHECK (
          operator_monthly_limit_micro >= 0 AND own_monthly_limit_micro >= 0
          AND monthly_limit_micro IS NOT DISTINCT FROM LEAST(operator_monthly_limit_micro, own_monthly_limit_micro))`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE organization_account
        DROP CONSTRAINT organization_account_monthly_limit_check,
        DROP COLUMN operator_monthly_limit_micro,
        DROP COLUMN own_monthly_limit_micro,
        ADD CONSTRAINT organization_account_monthly_limit_check CHECK (monthly_limit_micro >= 0)`);
  }
}

const ASSIGN = `
  UPDATE organization_account a
     SET operator_monthly_limit_micro = CASE WHEN by_owner THEN NULL ELSE a.monthly_limit_micro END,
         own_monthly_limit_micro = CASE WHEN by_owner THEN a.monthly_limit_micro END
    FROM (SELECT limited.organization_id,
                 COALESCE((SELECT e.action = 'billing_settings.updated' FROM audit_entry e
                            WHERE e.organization_id = limited.organization_id AND e.after ? 'monthly_limit_micro'
                              AND e.action IN ('billing_settings.updated', 'organization.limits_updated')
                            ORDER BY e.id DESC LIMIT 1), false) AS by_owner
            FROM organization_account limited WHERE limited.monthly_limit_micro IS NOT NULL) origin
   WHERE a.organization_id = origin.organization_id`;
