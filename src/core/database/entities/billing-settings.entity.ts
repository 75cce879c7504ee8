import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { OrganizationEntity } from './organization.entity';

/** The billing settings of an organization; without a row the defaults apply. Purchases lock this row. */
@Entity('billing_settings')
@Check('billing_settings_limits_check', 'purchase_limit_day_micro >= 0 AND purchase_limit_month_micro >= 0')
@Check('billing_settings_threshold_check', 'low_balance_threshold_micro > 0')
@Index('billing_settings_threshold_index', ['organizationId'], { where: 'low_balance_threshold_micro IS NOT NULL' })
export class BillingSettingsEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'billing_settings_pkey' })
  @ForeignKey(() => OrganizationEntity, { name: 'billing_settings_organization_id_fkey', onDelete: 'CASCADE' })
  organizationId!: string;

  /** Set by operators; `null`: the platform's limit. */
  @Column('bigint', { nullable: true })
  purchaseLimitDayMicro!: string | null;

  @Column('bigint', { nullable: true })
  purchaseLimitMonthMicro!: string | null;

  /** `null`: no notification. */
  @Column('bigint', { nullable: true })
  lowBalanceThresholdMicro!: string | null;

  /** When a process started to send the notification. */
  @Column('timestamptz', { nullable: true })
  lowBalanceClaimedAt!: Date | null;

  /** When the notification was sent; the next one requires that the balance was above the threshold again. */
  @Column('timestamptz', { nullable: true })
  lowBalanceNotifiedAt!: Date | null;
}
