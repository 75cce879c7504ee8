import type { EntityManager } from 'typeorm';
import type { Micro } from '../common/micro';
import { limitIdleTime } from '../database/limit-idle-time';

/** Opens the organization's account, empty. Call it in the transaction that creates the organization. */
export async function openAccount(
  manager: EntityManager,
  organizationId: string,
  monthlyLimitMicro: Micro | null,
): Promise<void> {
  await manager.query('INSERT INTO organization_account (organization_id, monthly_limit_micro) VALUES ($1, $2)', [
    organizationId,
    monthlyLimitMicro,
  ]);
}

/**
 * Reservations read the limit under the row lock that this takes: it applies from the next one on.
 * @returns the limit before.
 */
export async function updateMonthlyLimit(
  manager: EntityManager,
  organizationId: string,
  monthlyLimitMicro: Micro | null,
): Promise<Micro | null> {
  await limitIdleTime(manager);
  const [before] = await manager.query<{ limit: string | null }[]>(
    'SELECT monthly_limit_micro::text AS limit FROM organization_account WHERE organization_id = $1 FOR UPDATE',
    [organizationId],
  );
  await manager.query('UPDATE organization_account SET monthly_limit_micro = $2 WHERE organization_id = $1', [
    organizationId,
    monthlyLimitMicro,
  ]);
  return before?.limit == null ? null : BigInt(before.limit);
}

/** What the organization was charged for in the current calendar month, by the database's clock, as windows are. */
export async function findMonthSpending(manager: EntityManager, organizationId: string): Promise<Micro> {
  const [window] = await manager.query<{ spent: string }[]>(
    `SELECT spent_micro::text AS spent FROM spend_window
      WHERE scope = 1 AND scope_id = $1 AND window_start = date_trunc('month', now() AT TIME ZONE 'UTC')::date`,
    [organizationId],
  );
  return BigInt(window?.spent ?? 0);
}
