import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

export const PURCHASE_STATES = ['pending', 'processing', 'paid', 'failed', 'expired', 'canceled', 'mismatch'] as const;
/**
 * `processing`: the payment method takes days and may still fail. `mismatch`: the payment differs from the order;
 * nothing is credited, and a person has to review it.
 */
export type PurchaseState = (typeof PURCHASE_STATES)[number];
export type PaymentProviderName = 'stripe' | 'test';

/**
 * SQL: the payment differs from its order, was made twice, or was taken back without enough balance, and no person has
 * reviewed it since.
 */
export const NEEDS_REVIEW = `reviewed_at IS NULL
  AND (state = 'mismatch' OR (state = 'paid' AND failure IS NOT NULL) OR owed_micro > 0)`;

/** An order of credit and its state. */
@Entity('purchase')
@Check('purchase_provider_check', `provider IN ('stripe', 'test')`)
@Check('purchase_amount_check', 'amount_micro > 0 AND amount_micro % 10000 = 0')
@Check(
  'purchase_state_check',
  `(state IN ('pending', 'processing') AND ended_at IS NULL)
   OR (state = 'paid' AND ended_at IS NOT NULL AND payment_reference IS NOT NULL)
   OR (state IN ('failed', 'expired', 'canceled', 'mismatch') AND ended_at IS NOT NULL AND payment_reference IS NULL)`,
)
@Check('purchase_reversal_check', 'refunded_micro >= 0 AND disputed_micro >= 0 AND owed_micro >= 0')
@Index('purchase_idempotency_index', ['organizationId', 'idempotencyKey'], {
  unique: true,
  where: 'idempotency_key IS NOT NULL',
})
@Index('purchase_payment_index', ['provider', 'paymentReference'], {
  unique: true,
  where: 'payment_reference IS NOT NULL',
})
@Index('purchase_organization_index', ['organizationId', 'createdAt', 'id'])
@Index('purchase_time_index', ['createdAt', 'id'])
@Index('purchase_review_index', ['createdAt', 'id'], { where: NEEDS_REVIEW })
@Index('purchase_pending_index', ['expiresAt'], { where: `state = 'pending'` })
export class PurchaseEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'purchase_pkey' })
  id!: string;

  @Column('uuid')
  organizationId!: string;

  /** The buyer. */
  @Column('uuid', { nullable: true })
  userId!: string | null;

  @Column('text')
  provider!: PaymentProviderName;

  @Column('text', { default: 'pending' })
  state!: PurchaseState;

  @Column('bigint')
  amountMicro!: string;

  /** `null` also after the provider refused the order, so that it can be retried. */
  @Column('text', { nullable: true })
  idempotencyKey!: string | null;

  /** The provider's id of the checkout page; `null` until known. */
  @Column('text', { nullable: true })
  checkoutReference!: string | null;

  @Column('text', { nullable: true })
  checkoutUrl!: string | null;

  /** The provider's id of the payment. */
  @Column('text', { nullable: true })
  paymentReference!: string | null;

  /** Human-readable reason why the purchase was not paid or credited. */
  @Column('text', { nullable: true })
  failure!: string | null;

  /** Refunded so far according to the provider, without failed refunds. */
  @Column('bigint', { default: 0 })
  refundedMicro!: string;

  /** The highest total the provider reported, including refunds that failed later. */
  @Column('bigint', { default: 0 })
  highestRefundedMicro!: string;

  /** Total that the bank has withheld in disputes. */
  @Column('bigint', { default: 0 })
  disputedMicro!: string;

  /** The part of refunds and disputes that the balance did not cover. */
  @Column('bigint', { default: 0 })
  owedMicro!: string;

  @Column('timestamptz')
  createdAt!: Date;

  @Column('timestamptz')
  expiresAt!: Date;

  @Column('timestamptz', { nullable: true })
  endedAt!: Date | null;

  /** When a person reviewed the purchase; reset to `null` by every change of the payment. */
  @Column('timestamptz', { nullable: true })
  reviewedAt!: Date | null;
}
