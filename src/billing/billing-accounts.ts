import { Injectable } from '@nestjs/common';
import type { Micro } from '../common/micro';

/** Anything that runs one bound statement: a TypeORM entity manager or data source, a `pg` client or pool. */
export interface StatementRunner {
  query(text: string, parameters: unknown[]): Promise<unknown>;
}

/** Accounts are opened, and their limits set, by whoever manages organizations, in that one's transaction. */
@Injectable()
export class BillingAccounts {
  /** Every organization needs one from its first moment: without it nothing is admitted. Starts at zero. */
  async open(organizationId: string, runner: StatementRunner): Promise<void> {
    await runner.query('INSERT INTO organization_account (organization_id) VALUES ($1)', [organizationId]);
  }

  /** `null` lifts the limit. Applies from the next reservation on. */
  async setMonthlyLimit(organizationId: string, limitMicro: Micro | null, runner: StatementRunner): Promise<void> {
    await runner.query('UPDATE organization_account SET monthly_limit_micro = $2 WHERE organization_id = $1', [
      organizationId,
      limitMicro?.toString() ?? null,
    ]);
  }
}
