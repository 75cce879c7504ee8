import { Injectable } from '@nestjs/common';
import type { Micro } from '../../core/types/micro';

/** Anything that runs one bound statement: a TypeORM entity manager or data source, a `pg` client or pool. */
export interface StatementRunner {
  query(text: string, parameters: unknown[]): Promise<unknown>;
}

/** Opens accounts and sets their limits, in the caller's transaction. */
@Injectable()
export class BillingAccounts {
  /** Must run when an organization is created: requests without an account are refused. The balance starts at zero. */
  async open(organizationId: string, runner: StatementRunner): Promise<void> {
    await runner.query('INSERT INTO organization_account (organization_id) VALUES ($1)', [organizationId]);
  }

  /** `null` removes the organization's limit; the operator's stays. Applies from the next reservation on. */
  async setOwnMonthlyLimit(organizationId: string, limitMicro: Micro | null, runner: StatementRunner): Promise<void> {
    await runner.query(
      `UPDATE organization_account
          SET own_monthly_limit_micro = $2, monthly_limit_micro = LEAST($2, operator_monthly_limit_micro)
        WHERE organization_id = $1`,
      [organizationId, limitMicro?.toString() ?? null],
    );
  }
}
