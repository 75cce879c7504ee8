import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { OrganizationEntity } from './organization.entity';

/** What is set for the money of an organization; without a row, nothing is. Purchases queue for it. */
@Entity('billing_settings')
@Check('billing_settings_limits_check', 'purchase_limit_day_micro >= 0 AND purchase_limit_month_micro >= 0')
@Check('billing_settings_threshold_check', 'low_balance_threshold_micro > 0')
@Index('billing_settings_threshold_index', ['organizationId'], { where: 'low_balance_threshold_micro IS NOT NULL' })
export class BillingSettingsEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'billing_settings_pkey' })
  @ForeignKey(() => OrganizationEntity, { name: 'billing_settings_organization_id_fkey', onDelete: 'CASCADE' })
  organizationId!: string;

  /** Set by operators; `null`: that of the platform. */
  @Column('bigint', { nullable: true })
  purchaseLimitDayMicro!: string | null;

  @Column('bigint', { nullable: true })
  purchaseLimitMonthMicro!: string | null;

  /** `null`: nobody is told. */
  @Column('bigint', { nullable: true })
  lowBalanceThresholdMicro!: string | null;

  /** Somebody has begun to tell. */
  @Column('timestamptz', { nullable: true })
  lowBalanceClaimedAt!: Date | null;

  /** Told, and not to be told again before the balance has been above. */
  @Column('timestamptz', { nullable: true })
  lowBalanceToldAt!: Date | null;
}
