import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { OrganizationEntity } from './organization.entity';

/** What the webhooks of an organization are signed with. */
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

  /** The secret's, not the row's: rotation makes it anew. */
  @Column('timestamptz', { default: () => 'clock_timestamp()' })
  createdAt!: Date;

  /** When it was told in the dashboard, which happens once; `null`: not yet. */
  @Column('timestamptz', { nullable: true })
  revealedAt!: Date | null;
}
