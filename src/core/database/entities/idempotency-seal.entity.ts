import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A digest of a completed idempotency record, stored separately: the auditor compares both. */
@Entity('idempotency_seal')
export class IdempotencySealEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'idempotency_seal_pkey' })
  reservationId!: string;

  /** The record and this row may be removed after this time. */
  @Column('timestamptz')
  expiresAt!: Date;

  /** Over all columns of the record at completion. */
  @Column('bytea')
  digest!: Buffer;
}
