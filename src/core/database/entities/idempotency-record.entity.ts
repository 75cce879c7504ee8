import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

export type IdempotencyState = 'in_progress' | 'completed';

/**
 * The state of an `Idempotency-Key`: its owner while in progress, then its response. Written only by the money
 * functions.
 */
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

  /** SHA-256 fingerprint of the request. */
  @Column('bytea')
  fingerprint!: Buffer;

  /** The request that owns or owned the key: the fence, and the id of the body. */
  @Column('uuid')
  reservationId!: string;

  /** A dead owner's key is not taken over, because the request may have taken effect. */
  @Column('boolean', { default: false })
  atMostOnce!: boolean;

  @Column('text', { default: 'in_progress' })
  state!: IdempotencyState;

  @Column('smallint', { nullable: true })
  status!: number | null;

  @Column('text', { nullable: true })
  contentType!: string | null;

  /** Response headers that a replay repeats, with lower-case names. */
  @Column('jsonb', { nullable: true })
  headers!: Record<string, string> | null;

  @Column('bigint', { nullable: true })
  chargedMicro!: string | null;

  /** `false`: too long to store, so it cannot be replayed. */
  @Column('boolean', { nullable: true })
  bodyStored!: boolean | null;

  @Column('timestamptz', { default: () => 'clock_timestamp()' })
  createdAt!: Date;

  @Column('timestamptz', { nullable: true })
  completedAt!: Date | null;

  /** After this time the key is free, whether or not the row has been swept. */
  @Column('timestamptz', { nullable: true })
  expiresAt!: Date | null;
}
