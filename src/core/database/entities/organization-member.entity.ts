import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import type { Role } from '../../types/role';
import { OrganizationEntity } from './organization.entity';
import { UserAccountEntity } from './user-account.entity';

/** The role of a user in an organization. */
@Entity('organization_member')
@Check('organization_member_role_check', `role IN ('owner', 'admin', 'developer', 'viewer')`)
@Index('organization_member_user_index', ['userId'])
export class OrganizationMemberEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'organization_member_pkey' })
  @ForeignKey(() => OrganizationEntity, { name: 'organization_member_organization_id_fkey', onDelete: 'CASCADE' })
  organizationId!: string;

  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'organization_member_pkey' })
  @ForeignKey(() => UserAccountEntity, { name: 'organization_member_user_id_fkey', onDelete: 'CASCADE' })
  userId!: string;

  @Column('text')
  role!: Role;

  @Column('timestamptz', { default: () => 'clock_timestamp()' })
  createdAt!: Date;
}
