import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A named provider instance that an operator has stored. */
@Entity('provider_instance')
export class ProviderInstanceEntity {
  /** The id that deployments name as their provider. */
  @PrimaryColumn('text', { primaryKeyConstraintName: 'provider_instance_pkey' })
  id!: string;

  /** Module, base URL and keys, sealed by a `SecretBox`. */
  @Column('text')
  sealed!: string;

  /** When the instance was set; resealing does not change it. */
  @Column('timestamptz', { default: () => 'clock_timestamp()' })
  updatedAt!: Date;
}
