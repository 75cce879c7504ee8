import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { PaymentProviderName } from './purchase.entity';

/**
 * A dispute of a payment that no purchase has: told of before the payment was, or of somebody else who sells through the
 * same account.
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

  /** When the provider said so; of two such events the later one holds. */
  @Column('timestamptz')
  saidAt!: Date;
}
