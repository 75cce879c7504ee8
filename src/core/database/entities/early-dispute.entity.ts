import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { PaymentProviderName } from './purchase.entity';

/**
 * A dispute of a payment without a purchase: it arrived before the payment, or belongs to another seller on the same
 * account.
 */
@Entity('early_dispute')
export class EarlyDisputeEntity {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'early_dispute_pkey' })
  provider!: PaymentProviderName;

  @PrimaryColumn('text', { primaryKeyConstraintName: 'early_dispute_pkey' })
  paymentReference!: string;

  /** As `PurchaseEntity.disputedMicro`. */
  @Column('bigint')
  disputedMicro!: string;

  /** The provider's event time; the latest event wins. */
  @Column('timestamptz')
  reportedAt!: Date;
}
