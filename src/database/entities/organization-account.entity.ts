import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** An organization's money. Written by the money functions only, but for the limit. */
@Entity('organization_account')
@Check('organization_account_reserved_check', 'reserved_micro >= 0')
@Check('organization_account_available_check', 'balance_micro >= reserved_micro')
@Check('organization_account_monthly_limit_check', 'monthly_limit_micro >= 0')
export class OrganizationAccountEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'organization_account_pkey' })
  organizationId!: string;

  /** Amounts are decimal text, as the driver gives 64-bit integers. */
  @Column('bigint', { default: 0 })
  balanceMicro!: string;

  @Column('bigint', { default: 0 })
  reservedMicro!: string;

  /** `null`: no limit. */
  @Column('bigint', { nullable: true })
  monthlyLimitMicro!: string | null;
}
