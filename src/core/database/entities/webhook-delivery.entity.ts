import { Check, Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';

/** A webhook event to deliver. Written by `media_job_finish` once per job, and for test events. */
@Entity('webhook_delivery')
@Check(
  'webhook_delivery_event_check',
  `(event IN ('job.completed', 'job.failed') AND job_id IS NOT NULL) OR (event = 'webhook.test' AND job_id IS NULL)`,
)
@Check('webhook_delivery_round_check', 'prior_attempts BETWEEN 0 AND attempt')
@Check(
  'webhook_delivery_state_check',
  `(state = 'pending' AND ended_at IS NULL) OR (state IN ('delivered', 'exhausted', 'gone', 'withdrawn') AND ended_at IS NOT NULL AND lease_until IS NULL)`,
)
@Index('webhook_delivery_event_index', ['jobId', 'event'], { unique: true })
@Index('webhook_delivery_due_index', ['organizationId', 'nextAt'], { where: `state = 'pending'` })
@Index('webhook_delivery_lease_index', ['leaseUntil'], { where: 'lease_until IS NOT NULL' })
@Index('webhook_delivery_created_index', ['createdAt'])
@Index('webhook_delivery_organization_index', ['organizationId', 'createdAt', 'id'])
export class WebhookDeliveryEntity {
  /** The `webhook-id` of every attempt. */
  @PrimaryGeneratedColumn('uuid', { primaryKeyConstraintName: 'webhook_delivery_pkey' })
  id!: string;

  /** `null`: a test event. No foreign key: the log outlives a deleted job. */
  @Column('uuid', { nullable: true })
  jobId!: string | null;

  @Column('uuid')
  organizationId!: string;

  @Column('text')
  event!: string;

  @Column('text')
  url!: string;

  /** Without the port, in lower case. */
  @Column('text')
  targetHost!: string;

  /** `exhausted`: no attempts left; `gone`: the receiver answered 410; `withdrawn`: the job was deleted. */
  @Column('text', { default: 'pending' })
  state!: string;

  /** Number of started attempts. */
  @Column('smallint', { default: 0 })
  attempt!: number;

  /** Attempts before the last manual resend; the retry schedule counts only the others. */
  @Column('smallint', { default: 0 })
  priorAttempts!: number;

  @Column('timestamptz')
  nextAt!: Date;

  /** The lease of the current attempt; also identifies the claim. */
  @Column('timestamptz', { nullable: true })
  leaseUntil!: Date | null;

  @Column('smallint', { nullable: true })
  lastStatus!: number | null;

  @Column('text', { nullable: true })
  lastError!: string | null;

  @Column('timestamptz')
  createdAt!: Date;

  @Column('timestamptz', { nullable: true })
  endedAt!: Date | null;
}
