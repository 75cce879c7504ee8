import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { OrganizationEntity } from './organization.entity';

/** The signing secret for the webhooks of an organization. */
@Entity('organization_webhook_secret')
export class OrganizationWebhookSecretEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'organization_webhook_secret_pkey' })
  @ForeignKey(() => OrganizationEntity, {
    name: 'organization_webhook_secret_organization_id_fkey',
    onDelete: 'CASCADE',
  })
  organizationId!: string;

  /** Of a `SecretBox`. */
  @Column('text')
  sealed!: string;

  /** Of the secret, not the row: rotation resets it. */
  @Column('timestamptz', { default: () => 'clock_timestamp()' })
  createdAt!: Date;

  /** When the dashboard displayed it, which happens once; `null`: not yet. */
  @Column('timestamptz', { nullable: true })
  revealedAt!: Date | null;
}
