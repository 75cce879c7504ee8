import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** The receipts that the auditor expects, by the latest time in each column. */
@Entity('receipt_history')
export class ReceiptHistoryEntity {
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'receipt_history_pkey',
  })
  id!: string;

  /** Retention has removed receipts before this time. */
  @Column('timestamptz')
  keptSince!: Date;

  /** Receipts and stored responses have a digest after this time. */
  @Column('timestamptz', { nullable: true })
  sealedSince!: Date | null;
}
