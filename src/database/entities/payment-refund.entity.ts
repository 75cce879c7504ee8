import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { PaymentProviderName } from './purchase.entity';

/**
 * A refund of a payment; told of perhaps before the payment was, or of somebody else who sells through the same account.
 */
@Entity('payment_refund')
@Check('payment_refund_amount_check', 'amount_micro >= 0')
@Index('payment_refund_payment_index', ['provider', 'paymentReference'])
export class PaymentRefundEntity {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'payment_refund_pkey' })
  provider!: PaymentProviderName;

  /** The provider's own. */
  @PrimaryColumn('text', { primaryKeyConstraintName: 'payment_refund_pkey' })
  id!: string;

  @Column('text')
  paymentReference!: string;

  @Column('bigint')
  amountMicro!: string;

  /** The buyer has not got it, and will not. */
  @Column('boolean')
  hasFailed!: boolean;
}
