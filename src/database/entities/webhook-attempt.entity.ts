import { Check, Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { WebhookDeliveryEntity } from './webhook-delivery.entity';

/** One attempt at a delivery and what came of it: the delivery log. It holds nothing that was sent or answered. */
@Entity('webhook_attempt')
@Check('webhook_attempt_outcome_check', 'duration_ms >= 0 AND num_nonnulls(status, error) > 0')
export class WebhookAttemptEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'webhook_attempt_pkey' })
  @ForeignKey(() => WebhookDeliveryEntity, { name: 'webhook_attempt_delivery_id_fkey', onDelete: 'CASCADE' })
  deliveryId!: string;

  /** From 1. One whose process died is missing. */
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
