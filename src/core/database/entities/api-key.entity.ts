import { Check, Column, Entity, ForeignKey, Index, PrimaryGeneratedColumn, type ValueTransformer } from 'typeorm';
import type { Micro } from '../../types/micro';
import type { ModalityGroup } from '../../types/modality';
import { OrganizationEntity } from './organization.entity';

/** The driver returns `bigint` columns as text to avoid rounding. */
const bigintTransformer: ValueTransformer = {
  from: (value: string | null): Micro | null => (value === null ? null : BigInt(value)),
  to: (value: Micro | null | undefined): string | null | undefined =>
    typeof value === 'bigint' ? value.toString() : value,
};

/** An API key; the secret itself is not stored. `null` in a rule means "no rule". */
@Entity('api_key')
@Check('api_key_name_check', 'char_length(name) BETWEEN 1 AND 200')
@Check('api_key_digest_check', 'octet_length(digest) = 32')
@Check('api_key_replaced_by_check', 'replaced_by IS NULL OR revoked_at IS NOT NULL')
@Check(
  'api_key_allowed_check',
  `cardinality(allowed_ips) > 0 AND cardinality(allowed_models) > 0 AND cardinality(allowed_modalities) > 0
   AND allowed_modalities <@ ARRAY['text', 'audio', 'image', 'video', 'music', 'embedding', 'speech', 'transcription']`,
)
@Check(
  'api_key_limits_check',
  'requests_per_second > 0 AND requests_per_minute > 0 AND tokens_per_minute > 0 AND concurrency > 0',
)
@Check('api_key_budgets_check', 'daily_budget_micro >= 0 AND monthly_budget_micro >= 0')
@Index('api_key_organization_id_index', ['organizationId', 'createdAt'])
@Index('api_key_playground_index', ['organizationId', 'playgroundUserId'], {
  unique: true,
  where: 'playground_user_id IS NOT NULL',
})
export class ApiKeyEntity {
  @PrimaryGeneratedColumn('uuid', { primaryKeyConstraintName: 'api_key_pkey' })
  id!: string;

  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'api_key_organization_id_fkey' })
  organizationId!: string;

  @Column('text')
  name!: string;

  /** HMAC-SHA256 of the key. Selected only when a query names it. */
  @Column('bytea', { select: false })
  @Index('api_key_digest_index', { unique: true })
  digest!: Buffer;

  /** The key's first 11 characters. */
  @Column('text')
  prefix!: string;

  @Column('text')
  last4!: string;

  @Column('boolean', { default: true })
  enabled!: boolean;

  /** The time of revocation; in the future during the grace period of a rotated key. */
  @Column('timestamptz', { nullable: true })
  revokedAt!: Date | null;

  @Column('timestamptz', { nullable: true })
  expiresAt!: Date | null;

  /** The key that replaced this one by rotation. */
  @Column('uuid', { nullable: true })
  @ForeignKey(() => ApiKeyEntity, { name: 'api_key_replaced_by_fkey' })
  replacedBy!: string | null;

  @Column('cidr', { array: true, nullable: true })
  allowedIps!: string[] | null;

  /** Model ids, or `vendor/*`. */
  @Column('text', { array: true, nullable: true })
  allowedModels!: string[] | null;

  @Column('text', { array: true, nullable: true })
  allowedModalities!: ModalityGroup[] | null;

  @Column('integer', { nullable: true })
  requestsPerSecond!: number | null;

  @Column('integer', { nullable: true })
  requestsPerMinute!: number | null;

  @Column('integer', { nullable: true })
  tokensPerMinute!: number | null;

  @Column('integer', { nullable: true })
  concurrency!: number | null;

  @Column('bigint', { nullable: true, transformer: bigintTransformer })
  dailyBudgetMicro!: Micro | null;

  @Column('bigint', { nullable: true, transformer: bigintTransformer })
  monthlyBudgetMicro!: Micro | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt!: Date;

  /** The user who created the key; `null`: an operator command. */
  @Column('uuid', { nullable: true })
  createdBy!: string | null;

  /**
   * Set for a playground key, which counts what this user spends on dashboard pages; its secrets are in
   * `playground_secret`, and its own digest matches no secret. `null`: a key that members create and change.
   */
  @Column('uuid', { nullable: true })
  playgroundUserId!: string | null;
}
