import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** Spent and held amounts in one UTC day or month of a key, or one month of an organization. */
@Entity('spend_window')
@Check('spend_window_scope_check', 'scope IN (1, 2, 3)')
@Check('spend_window_spent_check', 'spent_micro >= 0')
@Check('spend_window_reserved_check', 'reserved_micro >= 0')
export class SpendWindowEntity {
  @PrimaryColumn('smallint', { primaryKeyConstraintName: 'spend_window_pkey' })
  scope!: number;

  /** Of the organization or the key. */
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'spend_window_pkey' })
  scopeId!: string;

  @PrimaryColumn('date', { primaryKeyConstraintName: 'spend_window_pkey' })
  windowStart!: string;

  @Column('bigint', { default: 0 })
  spentMicro!: string;

  @Column('bigint', { default: 0 })
  reservedMicro!: string;
}
