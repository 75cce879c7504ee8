import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** An organization's balance. Written only by the money functions, except the limits. */
@Entity('organization_account')
@Check('organization_account_reserved_check', 'reserved_micro >= 0')
@Check('organization_account_available_check', 'balance_micro >= reserved_micro')
@Check(
  'organization_account_monthly_limit_check',
  `operator_monthly_limit_micro >= 0 AND own_monthly_limit_micro >= 0
   AND monthly_limit_micro IS NOT DISTINCT FROM LEAST(operator_monthly_limit_micro, own_monthly_limit_micro)`,
)
export class OrganizationAccountEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'organization_account_pkey' })
  organizationId!: string;

  /** Amounts are decimal text, as the driver returns 64-bit integers. */
  @Column('bigint', { default: 0 })
  balanceMicro!: string;

  @Column('bigint', { default: 0 })
  reservedMicro!: string;

  /** The lower one of the two below, which the money functions enforce. `null`: no limit. */
  @Column('bigint', { nullable: true })
  monthlyLimitMicro!: string | null;

  /** Set by the operator. */
  @Column('bigint', { nullable: true })
  operatorMonthlyLimitMicro!: string | null;

  /** Set by the organization. */
  @Column('bigint', { nullable: true })
  ownMonthlyLimitMicro!: string | null;
}
