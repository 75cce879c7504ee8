import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** An output that is or may be in object storage: the row is created before the object and deleted after it. */
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

  /** `null`: not stored yet, or the process died before storing it. */
  @Column('bigint', { nullable: true })
  sizeBytes!: string | null;

  @Column('timestamptz', { default: () => 'clock_timestamp()' })
  createdAt!: Date;

  /** Not available after this time, whether or not it has been deleted. */
  @Column('timestamptz')
  deleteAt!: Date;

  /** When a sweeper may delete it: `deleteAt`, or later while a sweeper has claimed it or after a failure. */
  @Column('timestamptz')
  sweepAfter!: Date;
}
