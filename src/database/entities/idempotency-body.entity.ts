import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** The bytes of an answer that was given under an `Idempotency-Key`, around the gap for its charge. */
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

  /** After the charge; `null`: the answer does not tell it, and `head` is all. */
  @Column('bytea', { nullable: true })
  tail!: Buffer | null;

  /** Of head and tail. */
  @Column('bigint')
  bytes!: string;

  @Column('timestamptz', { default: () => 'clock_timestamp()' })
  createdAt!: Date;
}
