import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import type { Role } from '../../types/role';
import { OrganizationEntity } from './organization.entity';
import { UserAccountEntity } from './user-account.entity';

/** A pending invitation. Accepted and withdrawn invitations have no row. */
@Entity('organization_invitation')
@Check('organization_invitation_role_check', `role IN ('owner', 'admin', 'developer', 'viewer')`)
@Check('organization_invitation_digest_check', 'octet_length(digest) = 32')
@Index('organization_invitation_email_index', ['organizationId', 'emailKey'], { unique: true })
@Index('organization_invitation_digest_index', ['digest'], { unique: true })
export class OrganizationInvitationEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'organization_invitation_pkey' })
  id!: string;

  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'organization_invitation_organization_id_fkey', onDelete: 'CASCADE' })
  organizationId!: string;

  @Column('text')
  email!: string;

  /** Normalized like the address of an account. */
  @Column('text')
  emailKey!: string;

  @Column('text')
  role!: Role;

  /** SHA-256 of the token in the mail. */
  @Column('bytea', { select: false })
  digest!: Buffer;

  @Column('uuid', { nullable: true })
  @ForeignKey(() => UserAccountEntity, { name: 'organization_invitation_invited_by_fkey', onDelete: 'SET NULL' })
  invitedBy!: string | null;

  @Column('timestamptz')
  createdAt!: Date;

  @Column('timestamptz')
  expiresAt!: Date;
}
