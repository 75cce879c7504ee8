import { Inject, Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import { DataSource } from 'typeorm';
import { recordAudit } from '../../core/database/audit-log';
import { limitIdleTime } from '../../core/database/limit-idle-time';
import { MONEY_POOL } from '../../core/database/money-pool';
import { GatewayError } from '../../core/errors/gateway-error';
import type { Actor } from '../../core/types/actor';
import { MAX_MICRO, type Micro, microToJson } from '../../core/types/micro';
import { isPrintable } from '../../core/types/printable';
import { DAY_CHECKS, type LedgerViolation, readDays, readViolations } from './ledger-checks';

export interface AccountBalance {
  readonly balanceMicro: Micro;
  /** Part of the balance that is held for open requests. */
  readonly reservedMicro: Micro;
  /** The limits set by the operator and by the organization; the lower one applies; `null`: none. */
  readonly operatorMonthlyLimitMicro: Micro | null;
  readonly ownMonthlyLimitMicro: Micro | null;
}

interface BalanceRow {
  readonly balance: string;
  readonly reserved: string;
  readonly operator_limit: string | null;
  readonly own_limit: string | null;
}

type PostingKind = 'topup' | 'refund';

/** Ledger entries other than charges of requests, and the verification of all entries. */
@Injectable()
export class LedgerService {
  constructor(@Inject(MONEY_POOL) private readonly pool: Pool) {}

  /**
   * Credits a payment. Idempotent by `reference`: `false` when it had been credited before.
   * @throws GatewayError `not_found` without such an account, `conflict` when the reference was used for another
   * amount, `validation_failed` for an amount that is not positive or makes the balance too large, and for a reference
   * that {@link assertOwnReference} refuses.
   */
  async topUp(organizationId: string, amountMicro: Micro, reference: string): Promise<boolean> {
    return this.post(organizationId, 'topup', requireAmount(amountMicro), reference);
  }

  /**
   * Pays part of the balance back to the customer. Idempotent by `reference`.
   * @throws GatewayError as `topUp`, and `insufficient_credits` when more would be taken than is free.
   */
  async refund(organizationId: string, amountMicro: Micro, reference: string): Promise<boolean> {
    return this.post(organizationId, 'refund', -requireAmount(amountMicro), reference);
  }

  /** @throws GatewayError `not_found` */
  async balance(organizationId: string): Promise<AccountBalance> {
    const { rows } = await this.pool.query<BalanceRow>(
      `SELECT balance_micro::text AS balance, reserved_micro::text AS reserved,
              operator_monthly_limit_micro::text AS operator_limit, own_monthly_limit_micro::text AS own_limit
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
      operatorMonthlyLimitMicro: account.operator_limit === null ? null : BigInt(account.operator_limit),
      ownMonthlyLimitMicro: account.own_limit === null ? null : BigInt(account.own_limit),
    };
  }

  /**
   * Every broken invariant of money, receipts, their totals, stored responses and days; empty if there is none. Safe
   * under load.
   * @param timeoutMs for each statement: one for money, one for records, one for each day; default: no limit
   * @throws CheckTimeoutError
   */
  async verify(timeoutMs: number | null = null): Promise<LedgerViolation[]> {
    const client = await this.pool.connect();
    try {
      // If its platform supports this, the server cancels the query when the command is interrupted.
      await client.query(`SET client_connection_check_interval = '2s'`).catch(() => undefined);
      await client.query('BEGIN READ ONLY');
      const violations = [
        ...(await readViolations(client, { view: 'money_violations' }, timeoutMs)),
        ...(await readViolations(client, { view: 'record_violations' }, timeoutMs)),
      ];
      const days = await readDays(client);
      for (const kind of ['closed', 'open'] as const) {
        for (const day of days[kind]) {
          violations.push(...(await readViolations(client, { view: DAY_CHECKS[kind], day }, timeoutMs)));
        }
      }
      await client.query('COMMIT');
      client.release();
      return violations;
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

/** Prefixes reserved for payment references (src/billing/payments). */
const OF_PAYMENT = /^(?:stripe|test):/;

/**
 * Payment references are reserved for payments: each must match its purchase (invariants I13 to I15).
 * @throws GatewayError `validation_failed` for a payment reference and for unprintable characters.
 */
function assertOwnReference(reference: string): void {
  if (!isPrintable(reference)) {
    throw new GatewayError('validation_failed', 'reference must consist of printable characters.', {
      param: 'reference',
    });
  }
  if (!OF_PAYMENT.test(reference)) return;
  throw new GatewayError('validation_failed', 'reference must not begin with stripe: or test:, which are reserved.', {
    param: 'reference',
  });
}

/**
 * Interprets the result of `money_post`: `true` when the entry was written, `false` when it already existed.
 * @throws GatewayError `not_found`, `conflict`, `insufficient_credits`, `validation_failed` when the balance would
 *   exceed {@link MAX_MICRO}
 */
function assertPosted(outcome: string | undefined): boolean {
  switch (outcome) {
    case 'applied':
      return true;
    case 'repeated':
      return false;
    case 'conflict':
      throw new GatewayError('conflict', 'This reference was already used for another amount.');
    case 'insufficient':
      throw new GatewayError('insufficient_credits', 'The available balance is less than this amount.');
    case 'too_large':
      throw invalidAmount(`The balance would exceed ${MAX_MICRO}.`);
    default:
      throw accountNotFound();
  }
}

function requireAmount(amountMicro: Micro): Micro {
  if (amountMicro <= 0n || amountMicro > MAX_MICRO) {
    throw invalidAmount(`amount_micro must be an integer from 1 to ${MAX_MICRO}.`);
  }
  return amountMicro;
}

function invalidAmount(message: string): GatewayError {
  return new GatewayError('validation_failed', message, { param: 'amount_micro' });
}

function accountNotFound(): GatewayError {
  return new GatewayError('not_found', 'The organization has no account.');
}

export interface BalanceCredit {
  /** Positive. */
  readonly amountMicro: Micro;
  /** Unique for the organization: repeating it changes nothing. */
  readonly reference: string;
}

export interface BalanceAdjustment {
  /** Signed, not zero. */
  readonly amountMicro: Micro;
  /** See {@link BalanceCredit}. */
  readonly reference: string;
  /** For the audit log. */
  readonly reason: string;
}

export interface AdjustedBalance {
  /** `false`: the reference was already booked. */
  readonly applied: boolean;
  readonly balanceMicro: Micro;
}

/** Manual ledger entries by operators. The entry and its audit log entry are one transaction. */
@Injectable()
export class BalanceAdjustmentService {
  constructor(private readonly dataSource: DataSource) {}

  /** Credits a payment received outside the gateway. @throws GatewayError as {@link adjust}. */
  credit(organizationId: string, { amountMicro, reference }: BalanceCredit, actor: Actor): Promise<AdjustedBalance> {
    if (amountMicro <= 0n) throw invalidAmount('amount_micro must be positive.');
    return this.post(organizationId, 'topup', { amountMicro, reference }, actor);
  }

  /**
   * Books a correction.
   * @throws GatewayError `not_found` without such an account, `conflict` when the reference was used for another
   * amount, `insufficient_credits` when more would be taken than is free, `validation_failed` for zero, for a payment
   * reference or unprintable characters, and for a balance of more than {@link MAX_MICRO}.
   */
  adjust(organizationId: string, adjustment: BalanceAdjustment, actor: Actor): Promise<AdjustedBalance> {
    if (adjustment.amountMicro === 0n) throw invalidAmount('amount_micro must not be zero.');
    return this.post(organizationId, 'adjust', adjustment, actor);
  }

  private post(
    organizationId: string,
    kind: 'topup' | 'adjust',
    { amountMicro, reference, reason }: BalanceCredit & Partial<BalanceAdjustment>,
    actor: Actor,
  ): Promise<AdjustedBalance> {
    assertOwnReference(reference);
    if (amountMicro > MAX_MICRO || amountMicro < -MAX_MICRO)
      throw invalidAmount(`amount_micro must be at most ${MAX_MICRO}.`);
    return this.dataSource.transaction(async (manager) => {
      await limitIdleTime(manager);
      const [posting] = await manager.query<{ outcome: string }[]>('SELECT money_post($1, $2, $3, $4) AS outcome', [
        organizationId,
        kind,
        amountMicro.toString(),
        reference,
      ]);
      const applied = assertPosted(posting?.outcome);
      const [account] = await manager.query<{ balance: string }[]>(
        'SELECT balance_micro::text AS balance FROM organization_account WHERE organization_id = $1',
        [organizationId],
      );
      const balanceMicro = BigInt(account?.balance ?? 0);
      await recordAudit(manager, {
        organizationId,
        actor,
        action: kind === 'topup' ? 'balance.credited' : 'balance.adjusted',
        target: { type: 'organization', id: organizationId },
        before: { balance_micro: microToJson(applied ? balanceMicro - amountMicro : balanceMicro) },
        after: {
          balance_micro: microToJson(balanceMicro),
          amount_micro: microToJson(amountMicro),
          applied,
          reference,
          reason,
        },
      });
      return { applied, balanceMicro };
    });
  }
}

/** Anything that runs one bound statement: a TypeORM entity manager or data source, a `pg` client or pool. */
export interface StatementRunner {
  query(text: string, parameters: unknown[]): Promise<unknown>;
}

/** Sets the limits of accounts, in the caller's transaction. */
@Injectable()
export class BillingAccounts {
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
