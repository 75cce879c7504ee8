import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** The stored response body of an `Idempotency-Key`, around the gap for its charge. */
@Entity('idempotency_body')
@Index('idempotency_body_created_index', ['createdAt'])
export class IdempotencyBodyEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'idempotency_body_pkey' })
  reservationId!: string;

  @Column('uuid')
  organizationId!: string;

  /** Before the charge. */
  @Column('bytea')
  head!: Buffer;

  /** After the charge; `null`: the response has no charge, and `head` is complete. */
  @Column('bytea', { nullable: true })
  tail!: Buffer | null;

  /** Of head and tail. */
  @Column('bigint')
  bytes!: string;

  @Column('timestamptz', { default: () => 'clock_timestamp()' })
  createdAt!: Date;

  /** Over ids, head and tail, set by an insert trigger; `null`: the row predates digests. */
  @Column('bytea', { nullable: true })
  digest!: Buffer | null;
}
