import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A video or music job, the source of truth (src/media-jobs). It ends once (trigger `media_job_ends_once`). */
@Entity('media_job')
@Check('media_job_kind_check', `kind IN ('video', 'music')`)
@Check(
  'media_job_status_check',
  `(status IN ('queued', 'submitted', 'running') AND completed_at IS NULL)
   OR (status IN ('succeeded', 'failed', 'canceled', 'expired') AND completed_at IS NOT NULL)`,
)
@Check('media_job_started_check', `status NOT IN ('submitted', 'running', 'succeeded') OR started_at IS NOT NULL`)
@Check('media_job_error_check', `num_nonnulls(error_code, error_message) = CASE status WHEN 'failed' THEN 2 ELSE 0 END`)
@Check(
  'media_job_cost_check',
  `cost_micro >= 0 AND cost_micro <= estimated_cost_micro AND estimated_cost_micro <= max_cost_micro
   AND (cost_micro = 0 OR status = 'succeeded')`,
)
@Check('media_job_progress_check', 'progress BETWEEN 0 AND 100')
@Check(
  'media_job_handle_check',
  'provider_handle IS NULL OR (submit_started_at IS NOT NULL AND octet_length(provider_handle::text) <= 4096)',
)
@Check(
  'media_job_lease_check',
  `num_nonnulls(lease_owner, lease_until) = 0
   OR (num_nonnulls(lease_owner, lease_until) = 2 AND completed_at IS NULL)`,
)
@Check('media_job_deleted_check', 'deleted_at IS NULL OR completed_at IS NOT NULL')
@Index('media_job_due_index', ['nextRunAt'], { where: 'completed_at IS NULL' })
@Index('media_job_expiry_index', ['expiresAt'], { where: 'completed_at IS NULL' })
@Index('media_job_cancel_index', ['cancelDueAt'], { where: 'cancel_due_at IS NOT NULL' })
@Index('media_job_deleted_index', ['deletedAt'], { where: 'deleted_at IS NOT NULL' })
@Index('media_job_organization_index', ['organizationId', 'createdAt', 'id'])
export class MediaJobEntity {
  /** Of the request that submitted it, of its reservation and of its receipt. */
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'media_job_pkey' })
  id!: string;

  @Column('uuid')
  organizationId!: string;

  @Column('uuid')
  keyId!: string;

  @Column('text')
  kind!: string;

  @Column('text')
  model!: string;

  @Column('text', { default: 'queued' })
  status!: string;

  @Column('smallint', { nullable: true })
  progress!: number | null;

  /** The hold, which is also the maximum charge. */
  @Column('bigint')
  estimatedCostMicro!: string;

  @Column('bigint')
  maxCostMicro!: string;

  @Column('bigint', { default: 0 })
  costMicro!: string;

  @Column('text', { nullable: true })
  errorCode!: string | null;

  @Column('text', { nullable: true })
  errorMessage!: string | null;

  /** As submitted. */
  @Column('json')
  params!: object;

  /** The resolved parameters for this model, defaults included. */
  @Column('json')
  settings!: object;

  /** Ids of the candidate deployments, in order. */
  @Column('text', { array: true })
  route!: string[];

  @Column('text', { nullable: true })
  webhookUrl!: string | null;

  @Column('json')
  metadata!: object;

  /** Set with the submission to a provider, as are the next three. */
  @Column('text', { nullable: true })
  provider!: string | null;

  @Column('text', { nullable: true })
  deploymentId!: string | null;

  @Column('text', { nullable: true })
  priceVersionId!: string | null;

  /** The provider's idempotency key of the submission. */
  @Column('text', { nullable: true })
  providerToken!: string | null;

  /** The provider's handle of the job. */
  @Column('jsonb', { nullable: true })
  providerHandle!: object | null;

  @Column('smallint', { default: 0 })
  submissions!: number;

  @Column('timestamptz', { nullable: true })
  submitStartedAt!: Date | null;

  @Column('integer', { default: 0 })
  polls!: number;

  /** Consecutive polls at which the provider did not know the job or its result, and the time of the first. */
  @Column('smallint', { default: 0 })
  setbacks!: number;

  @Column('timestamptz', { nullable: true })
  setbackSince!: Date | null;

  /** Content types of the images that were fetched and stored, by field; null until then. */
  @Column('jsonb', { nullable: true })
  inputTypes!: Record<string, string> | null;

  @Column('timestamptz')
  nextRunAt!: Date;

  @Column('text', { nullable: true })
  leaseOwner!: string | null;

  @Column('timestamptz', { nullable: true })
  leaseUntil!: Date | null;

  /** The fence: each claim increments it, and writes with an older value are ignored. */
  @Column('integer', { default: 0 })
  fence!: number;

  /** Version of the row. */
  @Column('integer', { default: 0 })
  version!: number;

  @Column('timestamptz', { nullable: true })
  finalizingAt!: Date | null;

  /** When to cancel the job at the provider. */
  @Column('timestamptz', { nullable: true })
  cancelDueAt!: Date | null;

  @Column('smallint', { default: 0 })
  cancelAttempts!: number;

  /** Hidden from clients after this time; the row is removed after its objects. */
  @Column('timestamptz', { nullable: true })
  deletedAt!: Date | null;

  @Column('timestamptz')
  createdAt!: Date;

  @Column('timestamptz', { nullable: true })
  startedAt!: Date | null;

  @Column('timestamptz', { nullable: true })
  completedAt!: Date | null;

  @Column('timestamptz')
  expiresAt!: Date;
}
