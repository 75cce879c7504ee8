import { Check, Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

export const ORGANIZATION_STATUSES = ['active', 'suspended'] as const;
export type OrganizationStatus = (typeof ORGANIZATION_STATUSES)[number];

/** A customer: owns keys, an account and their results. Its balance is in `organization_account`. */
@Entity('organization')
@Check('organization_name_check', 'char_length(name) BETWEEN 1 AND 200')
@Check('organization_status_check', `status IN ('active', 'suspended')`)
@Check(
  'organization_limits_check',
  'requests_per_second > 0 AND requests_per_minute > 0 AND tokens_per_minute > 0 AND concurrency > 0',
)
export class OrganizationEntity {
  @PrimaryGeneratedColumn('uuid', { primaryKeyConstraintName: 'organization_pkey' })
  id!: string;

  @Column('text')
  name!: string;

  @Column('text', { default: 'active' })
  status!: OrganizationStatus;

  /** For all its keys together, as are the next three; `null`: no such limit. */
  @Column('integer', { nullable: true })
  requestsPerSecond!: number | null;

  @Column('integer', { nullable: true })
  requestsPerMinute!: number | null;

  @Column('integer', { nullable: true })
  tokensPerMinute!: number | null;

  @Column('integer', { nullable: true })
  concurrency!: number | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt!: Date;
}
