import type { Micro } from '../../core/types/micro';
import type { PaymentProviderName, PurchaseEntity, PurchaseState } from '../../core/database/entities/purchase.entity';

/** A purchase of credit with its amounts as `bigint`: see `PurchaseEntity`. */
export interface Purchase {
  readonly id: string;
  readonly organizationId: string;
  readonly userId: string | null;
  readonly provider: PaymentProviderName;
  readonly state: PurchaseState;
  readonly amountMicro: Micro;
  readonly checkoutReference: string | null;
  readonly checkoutUrl: string | null;
  readonly paymentReference: string | null;
  readonly failure: string | null;
  readonly refundedMicro: Micro;
  readonly highestRefundedMicro: Micro;
  readonly disputedMicro: Micro;
  readonly disputeSeenAt: Date | null;
  readonly owedMicro: Micro;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly endedAt: Date | null;
}

export function toPurchase(entity: PurchaseEntity): Purchase {
  const { idempotencyKey: _key, ...rest } = entity;
  return {
    ...rest,
    amountMicro: BigInt(entity.amountMicro),
    refundedMicro: BigInt(entity.refundedMicro),
    highestRefundedMicro: BigInt(entity.highestRefundedMicro),
    disputedMicro: BigInt(entity.disputedMicro),
    owedMicro: BigInt(entity.owedMicro),
  };
}

/** The amount refunded to the buyer or withdrawn by the bank: never more than was paid. */
export function takenBackMicro({ state, amountMicro, refundedMicro, disputedMicro }: Purchase): Micro {
  if (state !== 'paid') return 0n;
  const total = refundedMicro + disputedMicro;
  return total < amountMicro ? total : amountMicro;
}

/** The ledger reference of a payment. */
export function paymentReferenceOf({ provider, paymentReference }: Purchase): string {
  return `${provider}:${paymentReference}`;
}
