import { Inject, Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import { GatewayError } from '../../core/errors/gateway-error';
import type { Micro } from '../../core/types/micro';
import { MONEY_POOL } from '../../core/database/money-pool';
import { readRefusal } from './money-statements';

/** In the order in which they are checked (decision *order-of-402*). */
export type Budget = 'key_daily' | 'key_monthly' | 'organization_monthly' | 'balance';

/** The state of one budget before a request. */
export interface BudgetStanding {
  readonly budget: Budget;
  /** For `balance`: the balance. */
  readonly limitMicro: Micro;
  /** Spent in the window plus held for open requests; for `balance`: only the held amount. */
  readonly usedMicro: Micro;
  readonly wouldRefuse: boolean;
}

/** Whether a hold would be granted. */
export interface SpendingOutlook {
  /** Only the budgets that are set. */
  readonly budgets: readonly BudgetStanding[];
  /** The error that the client would receive; `null`: the hold would be granted. */
  readonly refusal: GatewayError | null;
}

/** The answer of `money_reserve` when a budget refuses. */
const REFUSALS: Readonly<Record<Budget, string>> = {
  key_daily: 'key_daily_budget',
  key_monthly: 'key_monthly_budget',
  organization_monthly: 'organization_monthly_limit',
  balance: 'insufficient_balance',
};

/** Reads what `money_reserve` compares, without locks: the same rows, windows and clock. */
const READ_BUDGETS = `
  SELECT a.balance_micro::text AS balance, a.reserved_micro::text AS reserved,
         a.monthly_limit_micro::text AS organization_limit, k.daily_budget_micro::text AS key_day_limit,
         k.monthly_budget_micro::text AS key_month_limit,
         COALESCE(organization_month.spent_micro + organization_month.reserved_micro, 0)::text AS organization_month_used,
         COALESCE(key_day.spent_micro + key_day.reserved_micro, 0)::text AS key_day_used,
         COALESCE(key_month.spent_micro + key_month.reserved_micro, 0)::text AS key_month_used
    FROM (SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date AS day,
                 date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC')::date AS month) today
    JOIN organization_account a ON a.organization_id = $1
    JOIN api_key k ON k.id = $2 AND k.organization_id = $1
    LEFT JOIN spend_window organization_month
      ON organization_month.organization_id = $1 AND organization_month.scope = 1 AND organization_month.scope_id = $1
     AND organization_month.window_start = today.month
    LEFT JOIN spend_window key_day
      ON key_day.organization_id = $1 AND key_day.scope = 2 AND key_day.scope_id = $2
     AND key_day.window_start = today.day
    LEFT JOIN spend_window key_month
      ON key_month.organization_id = $1 AND key_month.scope = 3 AND key_month.scope_id = $2
     AND key_month.window_start = today.month`;

interface BudgetsRow {
  readonly balance: string;
  readonly reserved: string;
  readonly organization_limit: string | null;
  readonly key_day_limit: string | null;
  readonly key_month_limit: string | null;
  readonly organization_month_used: string;
  readonly key_day_used: string;
  readonly key_month_used: string;
}

/** Checks whether an amount could be held for a key now, without creating a hold or taking locks. */
@Injectable()
export class SpendingOutlookService {
  constructor(@Inject(MONEY_POOL) private readonly pool: Pool) {}

  async previewHold(organizationId: string, keyId: string, amountMicro: Micro): Promise<SpendingOutlook> {
    const { rows } = await this.pool.query<BudgetsRow>(READ_BUDGETS, [organizationId, keyId]);
    const [row] = rows;
    if (row === undefined) return { budgets: [], refusal: refusalFor('unknown_account') };
    const standings = [
      standing('key_daily', row.key_day_limit, row.key_day_used, amountMicro),
      standing('key_monthly', row.key_month_limit, row.key_month_used, amountMicro),
      standing('organization_monthly', row.organization_limit, row.organization_month_used, amountMicro),
      standing('balance', row.balance, row.reserved, amountMicro),
    ];
    const budgets = standings.filter((each) => each !== null);
    const refusing = budgets.find(({ wouldRefuse }) => wouldRefuse);
    return { budgets, refusal: refusing === undefined ? null : refusalFor(REFUSALS[refusing.budget]) };
  }
}

function refusalFor(answer: string): GatewayError {
  const refusal = readRefusal(answer);
  return refusal instanceof GatewayError ? refusal : GatewayError.unexpected(refusal);
}

/** `null`: the budget is not set. An amount that reaches the limit exactly passes. */
function standing(budget: Budget, limit: string | null, used: string, amountMicro: Micro): BudgetStanding | null {
  if (limit === null) return null;
  const [limitMicro, usedMicro] = [BigInt(limit), BigInt(used)];
  return { budget, limitMicro, usedMicro, wouldRefuse: usedMicro + amountMicro > limitMicro };
}
