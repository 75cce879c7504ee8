import type { EntityManager } from 'typeorm';
import type { PaymentProviderName } from '../../core/database/entities/purchase.entity';
import type { KnownRefunds } from './apply-payment-fact';
import type { RefundFact } from './payment-provider';

/** An older event of the same refund may arrive later: a failed refund stays failed. */
const KEEP_REFUND = `
  INSERT INTO payment_refund AS kept (provider, id, payment_reference, amount_micro, has_failed) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (provider, id) DO UPDATE SET has_failed = true WHERE excluded.has_failed AND NOT kept.has_failed`;

const SUM_REFUNDS = `
  SELECT COALESCE(sum(amount_micro) FILTER (WHERE NOT has_failed), 0)::text AS standing,
         COALESCE(sum(amount_micro) FILTER (WHERE has_failed), 0)::text AS failed
    FROM payment_refund WHERE provider = $1 AND payment_reference = $2`;

/** Stores a refund, also of a payment that is not known yet. The payment must be locked. */
export async function persistRefund(
  manager: EntityManager,
  provider: PaymentProviderName,
  { refundId, paymentReference, amountMicro, hasFailed }: RefundFact,
): Promise<void> {
  await manager.query(KEEP_REFUND, [provider, refundId, paymentReference, amountMicro.toString(), hasFailed]);
}

/** The stored refunds of a payment. The payment must be locked. */
export async function findRefunds(
  manager: EntityManager,
  provider: PaymentProviderName,
  paymentReference: string,
): Promise<KnownRefunds> {
  const [sums]: { standing: string; failed: string }[] = await manager.query(SUM_REFUNDS, [provider, paymentReference]);
  return { standingMicro: BigInt(sums?.standing ?? 0), failedMicro: BigInt(sums?.failed ?? 0) };
}
