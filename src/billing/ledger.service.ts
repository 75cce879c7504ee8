import { Inject, Injectable } from '@nestjs/common';
import type { Pool, QueryConfig } from 'pg';
import { GatewayError } from '../common/errors/gateway-error';
import type { Micro } from '../common/micro';
import { MONEY_POOL } from '../database/money-pool';

export interface AccountBalance {
  readonly balanceMicro: Micro;
  /** Part of the balance that is held for requests under way. */
  readonly reservedMicro: Micro;
  /** `null`: no limit. */
  readonly monthlyLimitMicro: Micro | null;
}

/** A broken invariant: which one, of which row, and by how much. */
export interface LedgerViolation {
  readonly invariant: string;
  readonly subject: string;
  readonly differenceMicro: Micro;
}

type PostingKind = 'topup' | 'refund';

/** Reads whole tables, for which the money pool's time limits are too short. */
const AUDIT: QueryConfig & { readonly query_timeout: number } = {
  text: 'SELECT invariant, subject, difference_micro::text AS difference FROM money_violations LIMIT 1000',
  query_timeout: 61_000,
};

/** Movements of money that no request makes, and the audit of all of them. */
@Injectable()
export class LedgerService {
  constructor(@Inject(MONEY_POOL) private readonly pool: Pool) {}

  /**
   * Credits a payment. Idempotent by `reference`: `false` when it had been credited before.
   * @throws GatewayError `not_found` without such an account, `conflict` when the reference was used for another amount,
   * `validation_failed` for an amount that is not positive, or a reference of payments.
   */
  async topUp(organizationId: string, amountMicro: Micro, reference: string): Promise<boolean> {
    return this.post(organizationId, 'topup', requirePositive(amountMicro), reference);
  }

  /**
   * Pays part of the balance back to the customer. Idempotent by `reference`.
   * @throws GatewayError as `topUp`, and `insufficient_credits` when more would be taken than is free.
   */
  async refund(organizationId: string, amountMicro: Micro, reference: string): Promise<boolean> {
    return this.post(organizationId, 'refund', -requirePositive(amountMicro), reference);
  }

  /** @throws GatewayError `not_found` */
  async balance(organizationId: string): Promise<AccountBalance> {
    const { rows } = await this.pool.query<{ balance: string; reserved: string; monthly_limit: string | null }>(
      `SELECT balance_micro::text AS balance, reserved_micro::text AS reserved, monthly_limit_micro::text AS monthly_limit
         FROM organization_account WHERE organization_id = $1`,
      [organizationId],
    );
    const [account] = rows;
    if (account === undefined) {
      throw accountNotFound();
    }
    return {
      balanceMicro: BigInt(account.balance),
      reservedMicro: BigInt(account.reserved),
      monthlyLimitMicro: account.monthly_limit === null ? null : BigInt(account.monthly_limit),
    };
  }

  /** Every broken invariant at one moment; empty when the books are right. Safe under load. */
  async verify(): Promise<LedgerViolation[]> {
    const client = await this.pool.connect();
    try {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      await client.query(`SET LOCAL statement_timeout = '60s'`);
      const { rows } = await client.query<{ invariant: string; subject: string; difference: string }>(AUDIT);
      await client.query('COMMIT');
      client.release();
      return rows.map((row) => ({
        invariant: row.invariant,
        subject: row.subject,
        differenceMicro: BigInt(row.difference),
      }));
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  private async post(
    organizationId: string,
    kind: PostingKind,
    deltaMicro: Micro,
    reference: string,
  ): Promise<boolean> {
    assertOwnReference(reference);
    const { rows } = await this.pool.query<{ outcome: string }>('SELECT money_post($1, $2, $3, $4) AS outcome', [
      organizationId,
      kind,
      deltaMicro.toString(),
      reference,
    ]);
    return assertPosted(rows[0]?.outcome);
  }
}

/** How references of payments begin (src/payments). */
const OF_PAYMENT = /^(?:stripe|test):/;

/**
 * References of payments are given by payments alone: each of them has to fit its purchase (invariants I13 to I15).
 * @throws GatewayError `validation_failed`.
 */
export function assertOwnReference(reference: string): void {
  if (!OF_PAYMENT.test(reference)) return;
  throw new GatewayError('validation_failed', 'References that begin with stripe: or test: are those of payments.', {
    param: 'reference',
  });
}

/**
 * Reads what `money_post` has answered: `true` when the money has moved, `false` when it had before.
 * @throws GatewayError `not_found`, `conflict`, `insufficient_credits`.
 */
export function assertPosted(outcome: string | undefined): boolean {
  switch (outcome) {
    case 'applied':
      return true;
    case 'repeated':
      return false;
    case 'conflict':
      throw new GatewayError('conflict', 'This reference was already used for another amount.');
    case 'insufficient':
      throw new GatewayError('insufficient_credits', 'The free balance is smaller than this amount.');
    default:
      throw accountNotFound();
  }
}

function requirePositive(amountMicro: Micro): Micro {
  if (amountMicro <= 0n) {
    throw new GatewayError('validation_failed', 'The amount must be positive.');
  }
  return amountMicro;
}

function accountNotFound(): GatewayError {
  return new GatewayError('not_found', 'There is no account for this organization.');
}
