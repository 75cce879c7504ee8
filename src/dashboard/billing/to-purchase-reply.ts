import { microToJson } from '../../core/types/micro';
import type { Purchase as PurchaseReply } from '../../contract/dashboard';
import type { Purchase } from '../../billing/payments/purchase';

export function toPurchaseReply(purchase: Purchase): PurchaseReply {
  return {
    object: 'purchase',
    id: purchase.id,
    provider: purchase.provider,
    status: purchase.state,
    amount_micro: microToJson(purchase.amountMicro),
    refunded_micro: microToJson(purchase.refundedMicro),
    disputed_micro: microToJson(purchase.disputedMicro),
    owed_micro: microToJson(purchase.owedMicro),
    // Only a pending purchase can be paid.
    checkout_url: purchase.state === 'pending' ? purchase.checkoutUrl : null,
    failure: purchase.failure,
    created_by: purchase.userId,
    created_at: purchase.createdAt.toISOString(),
    expires_at: purchase.expiresAt.toISOString(),
    ended_at: purchase.endedAt?.toISOString() ?? null,
  };
}
