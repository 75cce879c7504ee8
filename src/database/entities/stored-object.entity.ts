import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** An output in the object storage, or one that may be there: the row comes before the object and goes after it. */
@Entity('stored_object')
@Check('stored_object_kind_check', `kind IN ('image', 'video', 'music')`)
@Check('stored_object_size_check', 'size_bytes >= 0')
@Index('stored_object_sweep_index', ['sweepAfter'])
export class StoredObjectEntity {
  /** `<kind>/<organization>/<request or job>/<index>.<extension>`; ordered by bytes, so that a prefix is a range. */
  @PrimaryColumn('text', { primaryKeyConstraintName: 'stored_object_pkey', collation: 'C' })
  key!: string;

  @Column('uuid')
  organizationId!: string;

  @Column('text')
  kind!: string;

  /** `null`: not stored yet, or never since its process died. */
  @Column('bigint', { nullable: true })
  sizeBytes!: string | null;

  @Column('timestamptz', { default: () => 'clock_timestamp()' })
  createdAt!: Date;

  /** From here on it is not to be had again, whether or not it has been deleted. */
  @Column('timestamptz')
  deleteAt!: Date;

  /** When anybody may try to delete it: `deleteAt`, or later where somebody is trying or has tried in vain. */
  @Column('timestamptz')
  sweepAfter!: Date;
}
