import { Check, Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

export const ORGANIZATION_STATUSES = ['active', 'suspended'] as const;
export type OrganizationStatus = (typeof ORGANIZATION_STATUSES)[number];

/** API keys that an organization may have unless an operator decides otherwise. */
export const DEFAULT_MAX_API_KEYS = 100;
export const HIGHEST_MAX_API_KEYS = 10_000;

/** A customer: owns keys, an account and their results. Its balance is in `organization_account`. */
@Entity('organization')
@Check('organization_name_check', 'char_length(name) BETWEEN 1 AND 200')
@Check('organization_status_check', `status IN ('active', 'suspended')`)
@Check('organization_max_api_keys_check', 'max_api_keys BETWEEN 0 AND 10000')
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

  /** This and the next three limits apply to all keys of the organization together; `null`: no such limit. */
  @Column('integer', { nullable: true })
  requestsPerSecond!: number | null;

  @Column('integer', { nullable: true })
  requestsPerMinute!: number | null;

  @Column('integer', { nullable: true })
  tokensPerMinute!: number | null;

  @Column('integer', { nullable: true })
  concurrency!: number | null;

  /** Keys that are not revoked; rotated keys in their grace period count separately, up to the same number. */
  @Column('integer', { default: DEFAULT_MAX_API_KEYS })
  maxApiKeys!: number;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt!: Date;
}
