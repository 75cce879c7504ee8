import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

export const PURCHASE_STATES = ['pending', 'processing', 'paid', 'failed', 'expired', 'mismatch'] as const;
/**
 * `processing`: the buyer has paid in a way that takes days, and may still turn out not to have. `mismatch`: something was paid that is not what was ordered; nothing is credited, and a person has to
 * look at it.
 */
export type PurchaseState = (typeof PURCHASE_STATES)[number];
export type PaymentProviderName = 'stripe' | 'test';

/** Credit that somebody wants to buy, and what has become of it. */
@Entity('purchase')
@Check('purchase_provider_check', `provider IN ('stripe', 'test')`)
@Check('purchase_amount_check', 'amount_micro > 0 AND amount_micro % 10000 = 0')
@Check(
  'purchase_state_check',
  `(state IN ('pending', 'processing') AND ended_at IS NULL)
   OR (state = 'paid' AND ended_at IS NOT NULL AND payment_reference IS NOT NULL)
   OR (state IN ('failed', 'expired', 'mismatch') AND ended_at IS NOT NULL AND payment_reference IS NULL)`,
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
@Index('purchase_pending_index', ['expiresAt'], { where: `state = 'pending'` })
export class PurchaseEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'purchase_pkey' })
  id!: string;

  @Column('uuid')
  organizationId!: string;

  /** Who has ordered it. */
  @Column('uuid', { nullable: true })
  userId!: string | null;

  @Column('text')
  provider!: PaymentProviderName;

  @Column('text', { default: 'pending' })
  state!: PurchaseState;

  @Column('bigint')
  amountMicro!: string;

  /** `null` also once the provider has refused it, so that the same order can be tried again. */
  @Column('text', { nullable: true })
  idempotencyKey!: string | null;

  /** The provider's id of the page where it is paid; `null` until known. */
  @Column('text', { nullable: true })
  checkoutReference!: string | null;

  @Column('text', { nullable: true })
  checkoutUrl!: string | null;

  /** The provider's id of the payment. */
  @Column('text', { nullable: true })
  paymentReference!: string | null;

  /** Why it was not paid, or not credited, for people. */
  @Column('text', { nullable: true })
  failure!: string | null;

  /** Paid back so far, as the provider says; without refunds that have failed. */
  @Column('bigint', { default: 0 })
  refundedMicro!: string;

  /** The highest sum that the provider has told of; refunds that have failed since are part of it. */
  @Column('bigint', { default: 0 })
  highestRefundedMicro!: string;

  /** Taken back by the bank for as long as a dispute lasts. */
  @Column('bigint', { default: 0 })
  disputedMicro!: string;

  /** When the provider said the last word about that. */
  @Column('timestamptz', { nullable: true })
  disputeSeenAt!: Date | null;

  /** What of both the balance did not cover. */
  @Column('bigint', { default: 0 })
  owedMicro!: string;

  @Column('timestamptz')
  createdAt!: Date;

  @Column('timestamptz')
  expiresAt!: Date;

  @Column('timestamptz', { nullable: true })
  endedAt!: Date | null;
}
