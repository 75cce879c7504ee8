import { Check, Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';

export type LedgerEntryKind = 'topup' | 'charge' | 'refund' | 'adjust';
export type LedgerAccount = 'organization' | 'revenue' | 'cash' | 'adjustment';

/** A transfer between two accounts. Append-only by trigger. */
@Entity('ledger_entry')
@Check('ledger_entry_amount_check', 'amount_micro > 0')
@Check(
  'ledger_entry_delta_check',
  `(credit_account = 'organization' AND debit_account <> 'organization' AND organization_delta_micro = amount_micro)
   OR (debit_account = 'organization' AND credit_account <> 'organization' AND organization_delta_micro = -amount_micro)`,
)
@Check(
  'ledger_entry_kind_check',
  `(kind = 'charge' AND credit_account = 'revenue' AND reservation_id IS NOT NULL AND external_reference IS NULL)
   OR (kind = 'topup' AND debit_account = 'cash' AND reservation_id IS NULL AND external_reference IS NOT NULL)
   OR (kind = 'refund' AND credit_account = 'cash' AND reservation_id IS NULL AND external_reference IS NOT NULL)
   OR (kind = 'adjust' AND 'adjustment' IN (debit_account, credit_account) AND reservation_id IS NULL
       AND external_reference IS NOT NULL)`,
)
@Index('ledger_entry_charge_index', ['reservationId'], { unique: true, where: `kind = 'charge'` })
@Index('ledger_entry_reference_index', ['organizationId', 'kind', 'externalReference'], {
  unique: true,
  where: 'external_reference IS NOT NULL',
})
@Index('ledger_entry_organization_index', ['organizationId', 'createdAt', 'id'])
@Index('ledger_entry_movement_index', ['organizationId', 'kind', 'createdAt', 'id'], { where: `kind <> 'charge'` })
export class LedgerEntryEntity {
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'ledger_entry_pkey',
  })
  id!: string;

  @Column('uuid')
  organizationId!: string;

  @Column('text')
  kind!: LedgerEntryKind;

  @Column('text')
  debitAccount!: LedgerAccount;

  @Column('text')
  creditAccount!: LedgerAccount;

  @Column('bigint')
  amountMicro!: string;

  /** The change of the organization's balance. */
  @Column('bigint')
  organizationDeltaMicro!: string;

  /** Of a charge. */
  @Column('uuid', { nullable: true })
  reservationId!: string | null;

  /** For all other kinds: makes retries idempotent. */
  @Column('text', { nullable: true })
  externalReference!: string | null;

  @Column('timestamptz', { default: () => 'clock_timestamp()' })
  createdAt!: Date;
}
