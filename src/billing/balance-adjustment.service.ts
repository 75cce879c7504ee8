import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { recordAudit } from '../audit/audit-log';
import type { Actor } from '../common/actor';
import { GatewayError } from '../common/errors/gateway-error';
import { type Micro, microToJson } from '../common/micro';
import { limitIdleTime } from '../database/limit-idle-time';
import { assertOwnReference, assertPosted } from './ledger.service';

export interface BalanceAdjustment {
  /** Signed, not zero. */
  readonly amountMicro: Micro;
  /** Unique for the organization: the same one again changes nothing. */
  readonly reference: string;
  /** For the audit log. */
  readonly reason: string;
}

export interface AdjustedBalance {
  /** `false`: it had been booked before. */
  readonly applied: boolean;
  readonly balanceMicro: Micro;
}

/** Corrections of a balance by hand. The posting and its entry in the audit log are one transaction. */
@Injectable()
export class BalanceAdjustmentService {
  constructor(private readonly dataSource: DataSource) {}

  /**
   * @throws GatewayError `not_found` without such an account, `conflict` when the reference was used for another amount,
   * `insufficient_credits` when more would be taken than is free, `validation_failed` for zero, for a reference of payments,
   * and for a balance that JSON could not hold.
   */
  adjust(
    organizationId: string,
    { amountMicro, reference, reason }: BalanceAdjustment,
    actor: Actor,
  ): Promise<AdjustedBalance> {
    assertOwnReference(reference);
    if (amountMicro === 0n) throw invalid('amount_micro must not be zero');
    return this.dataSource.transaction(async (manager) => {
      await limitIdleTime(manager);
      const [posting] = await manager.query<{ outcome: string }[]>(
        `SELECT money_post($1, 'adjust', $2, $3) AS outcome`,
        [organizationId, amountMicro.toString(), reference],
      );
      const applied = assertPosted(posting?.outcome);
      const [account] = await manager.query<{ balance: string }[]>(
        'SELECT balance_micro::text AS balance FROM organization_account WHERE organization_id = $1',
        [organizationId],
      );
      const balanceMicro = BigInt(account?.balance ?? 0);
      if (balanceMicro > BigInt(Number.MAX_SAFE_INTEGER))
        throw invalid('amount_micro would make the balance too large');
      await recordAudit(manager, {
        organizationId,
        actor,
        action: 'balance.adjusted',
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
