import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** Totals of the requests of one key per hour or day. As `UsageByModelEntity`. */
@Entity('usage_by_key')
@Check('usage_by_key_span_check', `span IN ('hour', 'day')`)
@Index('usage_by_key_hours_index', ['organizationId', 'keyId', 'startsAt'], { where: `span = 'hour'` })
export class UsageByKeyEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'usage_by_key_pkey' })
  organizationId!: string;

  @PrimaryColumn('text', { primaryKeyConstraintName: 'usage_by_key_pkey' })
  span!: 'hour' | 'day';

  @PrimaryColumn('timestamptz', { primaryKeyConstraintName: 'usage_by_key_pkey' })
  startsAt!: Date;

  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'usage_by_key_pkey' })
  keyId!: string;

  @PrimaryColumn('text', { primaryKeyConstraintName: 'usage_by_key_pkey' })
  outcome!: string;

  @Column('bigint')
  requests!: string;

  /** Bit n: minute n has a request. `null` for days. */
  @Column('bigint', { nullable: true })
  minutes!: string | null;

  @Column('bigint')
  inputTokens!: string;

  @Column('bigint')
  outputTokens!: string;

  @Column('bigint')
  chargedMicro!: string;
}
