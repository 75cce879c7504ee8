import { Check, Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

export const ORGANIZATION_STATUSES = ['active', 'suspended'] as const;
export type OrganizationStatus = (typeof ORGANIZATION_STATUSES)[number];

/** A customer: owns keys, an account and everything made with them. Its money is in `organization_account`. */
@Entity('organization')
@Check('organization_name_check', 'char_length(name) BETWEEN 1 AND 200')
@Check('organization_status_check', `status IN ('active', 'suspended')`)
export class OrganizationEntity {
  @PrimaryGeneratedColumn('uuid', { primaryKeyConstraintName: 'organization_pkey' })
  id!: string;

  @Column('text')
  name!: string;

  @Column('text', { default: 'active' })
  status!: OrganizationStatus;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt!: Date;
}
