import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { recordAudit } from '../../core/database/audit-log';
import type { Actor } from '../../core/types/actor';
import { GatewayError } from '../../core/errors/gateway-error';
import { MAX_MICRO, type Micro, microToJson } from '../../core/types/micro';
import { limitIdleTime } from '../../core/database/limit-idle-time';
import { assertOwnReference, assertPosted } from './ledger.service';

export interface BalanceCredit {
  /** Positive. */
  readonly amountMicro: Micro;
  /** Unique for the organization: the same one again changes nothing. */
  readonly reference: string;
}

export interface BalanceAdjustment {
  /** Signed, not zero. */
  readonly amountMicro: Micro;
  /** As that of a credit. */
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
    if (amountMicro <= 0n) throw invalid('amount_micro must be positive.');
    return this.post(organizationId, 'topup', { amountMicro, reference }, actor);
  }

  /**
   * Books a correction.
   * @throws GatewayError `not_found` without such an account, `conflict` when the reference was used for another amount,
   * `insufficient_credits` when more would be taken than is free, `validation_failed` for zero, for a payment reference or
   * unprintable characters, and for a balance of more than {@link MAX_MICRO}.
   */
  adjust(organizationId: string, adjustment: BalanceAdjustment, actor: Actor): Promise<AdjustedBalance> {
    if (adjustment.amountMicro === 0n) throw invalid('amount_micro must not be zero.');
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
      throw invalid(`amount_micro must be at most ${MAX_MICRO}.`);
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

function invalid(message: string): GatewayError {
  return new GatewayError('validation_failed', message, { param: 'amount_micro' });
}
