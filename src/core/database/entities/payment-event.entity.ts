import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { type PaymentProviderName, PurchaseEntity } from './purchase.entity';

/** A processed event of a payment provider about a purchase: duplicates are ignored. */
@Entity('payment_event')
@Index('payment_event_purchase_index', ['purchaseId'])
export class PaymentEventEntity {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'payment_event_pkey' })
  provider!: PaymentProviderName;

  /** The provider's event id. */
  @PrimaryColumn('text', { primaryKeyConstraintName: 'payment_event_pkey' })
  id!: string;

  @Column('text')
  type!: string;

  @Column('uuid')
  @ForeignKey(() => PurchaseEntity, { name: 'payment_event_purchase_id_fkey', onDelete: 'CASCADE' })
  purchaseId!: string;

  /** The effect of the event on the purchase. */
  @Column('text')
  outcome!: string;

  @Column('timestamptz')
  receivedAt!: Date;
}
