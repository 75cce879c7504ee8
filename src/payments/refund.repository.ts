import type { EntityManager } from 'typeorm';
import type { PaymentProviderName } from '../database/entities/purchase.entity';
import type { KnownRefunds } from './apply-payment-fact';
import type { RefundFact } from './payment-provider';

/** Of the same refund an older event may come later: one that has failed does not stand again. */
const KEEP_REFUND = `
  INSERT INTO payment_refund AS kept (provider, id, payment_reference, amount_micro, has_failed) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (provider, id) DO UPDATE SET has_failed = true WHERE excluded.has_failed AND NOT kept.has_failed`;

const SUM_REFUNDS = `
  SELECT COALESCE(sum(amount_micro) FILTER (WHERE NOT has_failed), 0)::text AS standing,
         COALESCE(sum(amount_micro) FILTER (WHERE has_failed), 0)::text AS failed
    FROM payment_refund WHERE provider = $1 AND payment_reference = $2`;

/** Remembers a refund, also of a payment of which nobody has heard yet. Of a locked payment. */
export async function keepRefund(
  manager: EntityManager,
  provider: PaymentProviderName,
  { refundId, paymentReference, amountMicro, hasFailed }: RefundFact,
): Promise<void> {
  await manager.query(KEEP_REFUND, [provider, refundId, paymentReference, amountMicro.toString(), hasFailed]);
}

/** What is remembered of a payment. Of a locked payment. */
export async function findRefunds(
  manager: EntityManager,
  provider: PaymentProviderName,
  paymentReference: string,
): Promise<KnownRefunds> {
  const [sums]: { standing: string; failed: string }[] = await manager.query(SUM_REFUNDS, [provider, paymentReference]);
  return { standingMicro: BigInt(sums?.standing ?? 0), failedMicro: BigInt(sums?.failed ?? 0) };
}
