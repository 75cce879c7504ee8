import { Check, Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { WebhookDeliveryEntity } from './webhook-delivery.entity';

/** One delivery attempt and its outcome: the delivery log. It contains no request or response bodies. */
@Entity('webhook_attempt')
@Check('webhook_attempt_outcome_check', 'duration_ms >= 0 AND num_nonnulls(status, error) > 0')
export class WebhookAttemptEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'webhook_attempt_pkey' })
  @ForeignKey(() => WebhookDeliveryEntity, { name: 'webhook_attempt_delivery_id_fkey', onDelete: 'CASCADE' })
  deliveryId!: string;

  /** From 1. Attempts whose process died are missing. */
  @PrimaryColumn('smallint', { primaryKeyConstraintName: 'webhook_attempt_pkey' })
  number!: number;

  @Column('timestamptz')
  startedAt!: Date;

  /** Of the answer; `null` without one. */
  @Column('smallint', { nullable: true })
  status!: number | null;

  /** Its class (`AttemptError`); `null`: delivered. */
  @Column('text', { nullable: true })
  error!: string | null;

  @Column('integer')
  durationMs!: number;
}
