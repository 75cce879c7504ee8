import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A key or base URL of a provider that an operator has stored. */
@Entity('provider_credential')
export class ProviderCredentialEntity {
  /** Name of the environment variable, for example `OPENAI_API_KEY`. */
  @PrimaryColumn('text', { primaryKeyConstraintName: 'provider_credential_pkey' })
  name!: string;

  /** The value, sealed by a `SecretBox`. */
  @Column('text')
  sealed!: string;

  /** The last characters of a long key, for identification; `null`: the value is short or not a key. */
  @Column('text', { nullable: true })
  last4!: string | null;

  /** When the value was set; resealing does not change it. */
  @Column('timestamptz', { default: () => 'clock_timestamp()' })
  updatedAt!: Date;
}
