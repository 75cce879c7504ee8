import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** The receipt of one request (`billing/usage-record.ts`) with what it cost. Written by `money_finish`. */
@Entity('usage_record')
@Index('usage_record_organization_time_index', ['organizationId', 'createdAt'])
export class UsageRecordEntity {
  /** Of the request and of its reservation. */
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'usage_record_pkey' })
  id!: string;

  @Column('uuid')
  organizationId!: string;

  @Column('uuid')
  keyId!: string;

  @Column('timestamptz', { default: () => 'clock_timestamp()' })
  createdAt!: Date;

  @Column('text', { nullable: true })
  priceVersionId!: string | null;

  @Column('bigint')
  holdMicro!: string;

  @Column('bigint')
  chargedMicro!: string;

  @Column('bigint')
  uncollectedMicro!: string;

  @Column('bigint')
  inputText!: string;

  @Column('bigint')
  inputCacheRead!: string;

  @Column('bigint', { name: 'input_cache_write_5m' })
  inputCacheWrite5m!: string;

  @Column('bigint', { name: 'input_cache_write_1h' })
  inputCacheWrite1h!: string;

  @Column('bigint')
  inputImage!: string;

  @Column('bigint')
  inputAudio!: string;

  @Column('bigint')
  outputText!: string;

  @Column('bigint')
  outputReasoning!: string;

  @Column('bigint')
  outputImage!: string;

  @Column('bigint')
  outputAudio!: string;

  @Column('bigint')
  images!: string;

  @Column('bigint')
  characters!: string;

  @Column('double precision')
  seconds!: number;

  @Column('integer', { nullable: true })
  firstTokenMs!: number | null;

  @Column('integer')
  totalMs!: number;

  @Column('integer')
  attempts!: number;

  @Column('smallint')
  status!: number;

  @Column('boolean')
  streamed!: boolean;

  @Column('boolean')
  usageEstimated!: boolean;

  @Column('text')
  operation!: string;

  @Column('text')
  model!: string;

  @Column('text', { nullable: true })
  provider!: string | null;

  @Column('text', { nullable: true })
  deploymentId!: string | null;

  @Column('text', { nullable: true })
  errorCode!: string | null;

  /** `AttemptNote[]`; `null` when there was at most one attempt and no failure. */
  @Column('jsonb', { nullable: true })
  attemptLog!: object | null;

  /** `PricedDetails`; `null`: the counts alone determined the price. */
  @Column('jsonb', { nullable: true })
  pricedBy!: object | null;

  /** Over all other columns, set by an insert trigger; `null`: the row predates digests. */
  @Column('bytea', { nullable: true })
  digest!: Buffer | null;
}
