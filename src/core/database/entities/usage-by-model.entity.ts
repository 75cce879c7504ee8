import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * Totals of the requests of one model per hour or day. Written by `usage_roll`, which is why `usage_delta`, whose rows
 * have no identity, has no entity.
 */
@Entity('usage_by_model')
@Check('usage_by_model_span_check', `span IN ('hour', 'day')`)
@Index('usage_by_model_hours_index', ['organizationId', 'model', 'startsAt'], { where: `span = 'hour'` })
@Index('usage_by_model_failures_index', ['organizationId', 'startsAt'], {
  where: `span = 'hour' AND outcome <> 'success'`,
})
@Index('usage_by_model_operations_index', ['organizationId', 'operation', 'startsAt'], { where: `span = 'hour'` })
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
