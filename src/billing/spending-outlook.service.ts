import { Inject, Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import { GatewayError } from '../common/errors/gateway-error';
import type { Micro } from '../common/micro';
import { MONEY_POOL } from '../database/money-pool';
import { readRefusal } from './money-statements';

/** In the order in which they are asked (decision *order-of-402*). */
export type Budget = 'key_daily' | 'key_monthly' | 'organization_monthly' | 'balance';

/** How one budget stands before a request. */
export interface BudgetStanding {
  readonly budget: Budget;
  /** What may be spent in all; of the balance, the balance. */
  readonly limitMicro: Micro;
  /** What has been spent in the window, and what is held for requests under way; of the balance, only the latter. */
  readonly usedMicro: Micro;
  readonly wouldRefuse: boolean;
}

/** How a hold would fare. */
export interface SpendingOutlook {
  /** Those that are set. */
  readonly budgets: readonly BudgetStanding[];
  /** What its client would get; `null`: it would be held. */
  readonly refusal: GatewayError | null;
}

/** The answers of `money_reserve` that a budget stands for. */
const LETTERS: Readonly<Record<Budget, string>> = {
  key_daily: 'D',
  key_monthly: 'M',
  organization_monthly: 'O',
  balance: 'C',
};

/** What `money_reserve` compares, without its locks: the same rows and windows, and the same clock. */
const LOOK = `
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
      ON organization_month.scope = 1 AND organization_month.scope_id = $1 AND organization_month.window_start = today.month
    LEFT JOIN spend_window key_day
      ON key_day.scope = 2 AND key_day.scope_id = $2 AND key_day.window_start = today.day
    LEFT JOIN spend_window key_month
      ON key_month.scope = 3 AND key_month.scope_id = $2 AND key_month.window_start = today.month`;

interface LookRow {
  readonly balance: string;
  readonly reserved: string;
  readonly organization_limit: string | null;
  readonly key_day_limit: string | null;
  readonly key_month_limit: string | null;
  readonly organization_month_used: string;
  readonly key_day_used: string;
  readonly key_month_used: string;
}

/** Whether an amount could be held for a key now; nothing is held, and nobody waits for it. */
@Injectable()
export class SpendingOutlookService {
  constructor(@Inject(MONEY_POOL) private readonly pool: Pool) {}

  async look(organizationId: string, keyId: string, amountMicro: Micro): Promise<SpendingOutlook> {
    const { rows } = await this.pool.query<LookRow>(LOOK, [organizationId, keyId]);
    const [row] = rows;
    if (row === undefined) return { budgets: [], refusal: refusalFor('U') };
    const standings = [
      standing('key_daily', row.key_day_limit, row.key_day_used, amountMicro),
      standing('key_monthly', row.key_month_limit, row.key_month_used, amountMicro),
      standing('organization_monthly', row.organization_limit, row.organization_month_used, amountMicro),
      standing('balance', row.balance, row.reserved, amountMicro),
    ];
    const budgets = standings.filter((each) => each !== null);
    const refusing = budgets.find(({ wouldRefuse }) => wouldRefuse);
    return { budgets, refusal: refusing === undefined ? null : refusalFor(LETTERS[refusing.budget]) };
  }
}

function refusalFor(letter: string): GatewayError {
  const refusal = readRefusal(letter);
  return refusal instanceof GatewayError ? refusal : GatewayError.unexpected(refusal);
}

/** `null`: it is not set. What reaches the limit exactly passes. */
function standing(budget: Budget, limit: string | null, used: string, amountMicro: Micro): BudgetStanding | null {
  if (limit === null) return null;
  const [limitMicro, usedMicro] = [BigInt(limit), BigInt(used)];
  return { budget, limitMicro, usedMicro, wouldRefuse: usedMicro + amountMicro > limitMicro };
}
