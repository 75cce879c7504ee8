import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

export type ReservationState = 'held' | 'settled' | 'released' | 'expired';

/** A hold and its end. Only a held row may change, and only once (trigger `reservation_ends_once`). */
@Entity('reservation')
@Check('reservation_amount_check', 'amount_micro >= 0')
@Check('reservation_uncollected_check', `uncollected_micro >= 0 AND (uncollected_micro = 0 OR state = 'settled')`)
@Check(
  'reservation_state_check',
  `(state = 'held' AND charged_micro IS NULL AND ended_at IS NULL)
   OR (state = 'settled' AND charged_micro IS NOT NULL AND charged_micro >= 0 AND ended_at IS NOT NULL)
   OR (state IN ('released', 'expired') AND charged_micro IS NULL AND ended_at IS NOT NULL)`,
)
@Check(
  'reservation_job_charge_check',
  `owner <> 'media_job' OR (COALESCE(charged_micro, 0) <= amount_micro AND uncollected_micro = 0)`,
)
@Index('reservation_held_index', ['expiresAt'], { where: `state = 'held'` })
export class ReservationEntity {
  /** Set by the caller: the id of the request. */
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'reservation_pkey' })
  id!: string;

  @Column('uuid')
  organizationId!: string;

  @Column('uuid')
  keyId!: string;

  @Column('text', { default: 'held' })
  state!: ReservationState;

  @Column('bigint')
  amountMicro!: string;

  @Column('bigint', { nullable: true })
  chargedMicro!: string | null;

  @Column('bigint', { default: 0 })
  uncollectedMicro!: string;

  /** The budget windows of the hold, fixed at its creation. */
  @Column('date')
  day!: string;

  @Column('date')
  month!: string;

  /** Id of the gateway instance that has to end it; `media_job`: only the job with the same id may. */
  @Column('text')
  owner!: string;

  @Column('timestamptz')
  expiresAt!: Date;

  @Column('timestamptz', { default: () => 'clock_timestamp()' })
  createdAt!: Date;

  @Column('timestamptz', { nullable: true })
  endedAt!: Date | null;

  /** Whether an idempotency record depends on it: the end of the hold ends the record too. */
  @Column('boolean', { default: false })
  keyed!: boolean;
}
