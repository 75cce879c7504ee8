import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** The single row with the state of the ledger audits, shared by all processes. */
@Entity('ledger_audit')
@Check('ledger_audit_id_check', 'id')
@Check('ledger_audit_completed_check', 'num_nulls(completed_at, duration_ms, violation_count) IN (0, 3)')
@Check('ledger_audit_failed_check', 'num_nulls(failed_at, failure) IN (0, 2)')
export class LedgerAuditEntity {
  @PrimaryColumn('boolean', { default: true, primaryKeyConstraintName: 'ledger_audit_pkey' })
  id!: boolean;

  @Column('timestamptz', { default: () => 'clock_timestamp()' })
  nextDueAt!: Date;

  /** Of the last audit that completed, as are the next three. */
  @Column('timestamptz', { nullable: true })
  completedAt!: Date | null;

  @Column('bigint', { nullable: true })
  durationMs!: string | null;

  @Column('integer', { nullable: true })
  violationCount!: number | null;

  /** The first of them: `{ invariant, subject }[]`. */
  @Column('jsonb', { default: [] })
  violations!: object[];

  /** Of the latest audit when it did not complete; `null` once one completes. */
  @Column('timestamptz', { nullable: true })
  failedAt!: Date | null;

  @Column('text', { nullable: true })
  failure!: string | null;
}
