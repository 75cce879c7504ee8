import type { EntityManager } from 'typeorm';
import type { Micro } from '../../core/types/micro';
import { limitIdleTime } from '../../core/database/limit-idle-time';

/**
 * Creates the organization's account with a zero balance, in the transaction that creates the organization.
 * @param monthlyLimitMicro the operator's; `null`: none.
 */
export async function openAccount(
  manager: EntityManager,
  organizationId: string,
  monthlyLimitMicro: Micro | null,
): Promise<void> {
  await manager.query(
    `INSERT INTO organization_account (organization_id, operator_monthly_limit_micro, monthly_limit_micro)
     VALUES ($1, $2, $2)`,
    [organizationId, monthlyLimitMicro],
  );
}

/**
 * Sets the operator's monthly limit; `null`: none. The organization's limit is unchanged. Reservations read the lower
 * one under the row lock that this takes, so it applies from the next reservation on.
 * @returns the operator's previous limit.
 */
export async function updateMonthlyLimit(
  manager: EntityManager,
  organizationId: string,
  monthlyLimitMicro: Micro | null,
): Promise<Micro | null> {
  await limitIdleTime(manager);
  const [before] = await manager.query<{ limit: string | null }[]>(
    `SELECT operator_monthly_limit_micro::text AS limit FROM organization_account
      WHERE organization_id = $1 FOR UPDATE`,
    [organizationId],
  );
  await manager.query(
    `UPDATE organization_account
        SET operator_monthly_limit_micro = $2, monthly_limit_micro = LEAST($2, own_monthly_limit_micro)
      WHERE organization_id = $1`,
    [organizationId, monthlyLimitMicro],
  );
  return before?.limit == null ? null : BigInt(before.limit);
}

/** The organization's charges in the current calendar month, by the database clock, which defines the windows. */
export async function findMonthSpending(manager: EntityManager, organizationId: string): Promise<Micro> {
  const [window] = await manager.query<{ spent: string }[]>(
    `SELECT spent_micro::text AS spent FROM spend_window
      WHERE organization_id = $1 AND scope = 1 AND scope_id = $1
        AND window_start = date_trunc('month', now() AT TIME ZONE 'UTC')::date`,
    [organizationId],
  );
  return BigInt(window?.spent ?? 0);
}
