import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * What requests of one model added up to in an hour or a day. Written by `usage_roll`, which is why `usage_delta`, whose
 * rows have no identity, has no entity.
 */
@Entity('usage_by_model')
@Check('usage_by_model_span_check', `span IN ('hour', 'day')`)
@Index('usage_by_model_hours_index', ['organizationId', 'model', 'startsAt'], { where: `span = 'hour'` })
export class UsageByModelEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'usage_by_model_pkey' })
  organizationId!: string;

  @PrimaryColumn('text', { primaryKeyConstraintName: 'usage_by_model_pkey' })
  span!: 'hour' | 'day';

  @PrimaryColumn('timestamptz', { primaryKeyConstraintName: 'usage_by_model_pkey' })
  startsAt!: Date;

  @PrimaryColumn('text', { primaryKeyConstraintName: 'usage_by_model_pkey' })
  model!: string;

  @PrimaryColumn('text', { primaryKeyConstraintName: 'usage_by_model_pkey' })
  operation!: string;

  @PrimaryColumn('text', { primaryKeyConstraintName: 'usage_by_model_pkey' })
  outcome!: string;

  @Column('bigint')
  requests!: string;

  /** Bit n: there is one in minute n. `null` of a day. */
  @Column('bigint', { nullable: true })
  minutes!: string | null;

  @Column('bigint')
  inputTokens!: string;

  @Column('bigint')
  outputTokens!: string;

  @Column('bigint')
  chargedMicro!: string;
}
