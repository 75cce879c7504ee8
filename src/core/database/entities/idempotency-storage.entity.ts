import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** How much an organization has stored in `idempotency_body`. */
@Entity('idempotency_storage')
@Check('idempotency_storage_bytes_check', 'stored_bytes >= 0')
export class IdempotencyStorageEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'idempotency_storage_pkey' })
  organizationId!: string;

  @Column('bigint')
  storedBytes!: string;
}
