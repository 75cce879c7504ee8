import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

export type IdempotencyState = 'in_progress' | 'completed';

/** Who is at work on an `Idempotency-Key`, or what was answered. Written by the money functions only. */
@Entity('idempotency_record')
@Check('idempotency_record_fingerprint_check', 'octet_length(fingerprint) = 32')
@Check(
  'idempotency_record_state_check',
  `(state = 'in_progress' AND num_nonnulls(status, content_type, headers, charged_micro, body_stored, completed_at,
                                            expires_at) = 0)
   OR (state = 'completed' AND num_nulls(status, headers, charged_micro, body_stored, completed_at, expires_at) = 0
       AND charged_micro >= 0)`,
)
@Index('idempotency_record_reservation_index', ['reservationId'], { unique: true })
@Index('idempotency_record_expiry_index', ['expiresAt'], { where: `state = 'completed'` })
export class IdempotencyRecordEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'idempotency_record_pkey' })
  organizationId!: string;

  /** Operation id of the document. */
  @PrimaryColumn('text', { primaryKeyConstraintName: 'idempotency_record_pkey' })
  operation!: string;

  @PrimaryColumn('text', { primaryKeyConstraintName: 'idempotency_record_pkey' })
  key!: string;

  /** SHA-256 of what was asked. */
  @Column('bytea')
  fingerprint!: Buffer;

  /** Of the request that owns or owned the key: the fence, and the name of the body. */
  @Column('uuid')
  reservationId!: string;

  /** When its owner dies the key is not taken over: what was asked may have happened. */
  @Column('boolean', { default: false })
  atMostOnce!: boolean;

  @Column('text', { default: 'in_progress' })
  state!: IdempotencyState;

  @Column('smallint', { nullable: true })
  status!: number | null;

  @Column('text', { nullable: true })
  contentType!: string | null;

  /** Response headers that a replay repeats, by their names in small letters. */
  @Column('jsonb', { nullable: true })
  headers!: Record<string, string> | null;

  @Column('bigint', { nullable: true })
  chargedMicro!: string | null;

  /** `false`: too long to be kept, so it cannot be replayed. */
  @Column('boolean', { nullable: true })
  bodyStored!: boolean | null;

  @Column('timestamptz', { default: () => 'clock_timestamp()' })
  createdAt!: Date;

  @Column('timestamptz', { nullable: true })
  completedAt!: Date | null;

  /** After this the key is nobody's, whether or not the row has been swept. */
  @Column('timestamptz', { nullable: true })
  expiresAt!: Date | null;
}
