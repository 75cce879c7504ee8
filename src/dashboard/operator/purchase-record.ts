import { needsReview } from '../../billing/payments/purchase';
import type { StaffPurchase } from '../../billing/payments/purchase.repository';
import type { OperatorPurchase } from '../../contract/dashboard';
import { microToJson } from '../../core/types/micro';

export function toOperatorPurchase(purchase: StaffPurchase): OperatorPurchase {
  return {
    object: 'operator.purchase',
    id: purchase.id,
    organization_id: purchase.organizationId,
    organization_name: purchase.organizationName,
    provider: purchase.provider,
    status: purchase.state,
    needs_review: needsReview(purchase),
    amount_micro: microToJson(purchase.amountMicro),
    refunded_micro: microToJson(purchase.refundedMicro),
    disputed_micro: microToJson(purchase.disputedMicro),
    owed_micro: microToJson(purchase.owedMicro),
    checkout_reference: purchase.checkoutReference,
    payment_reference: purchase.paymentReference,
    failure: purchase.failure,
    created_by: purchase.userId,
    created_at: purchase.createdAt.toISOString(),
    ended_at: purchase.endedAt?.toISOString() ?? null,
    reviewed_at: purchase.reviewedAt?.toISOString() ?? null,
  };
}
