import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { PaymentProviderName } from './purchase.entity';

/**
 * A refund of a payment. It may arrive before the payment, or belong to another seller on the same account.
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

  /** The refund failed permanently. */
  @Column('boolean')
  hasFailed!: boolean;
}
