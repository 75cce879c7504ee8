import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A key or base URL of a provider that an operator has stored. */
@Entity('provider_credential')
export class ProviderCredentialEntity {
  /** As the environment would name it, for example `OPENAI_API_KEY`. */
  @PrimaryColumn('text', { primaryKeyConstraintName: 'provider_credential_pkey' })
  name!: string;

  /** Of a `SecretBox`. */
  @Column('text')
  sealed!: string;

  /** The end of a long key, to tell it from others; `null`: of what is short, or is no key. */
  @Column('text', { nullable: true })
  last4!: string | null;

  /** When the value was set; that it was sealed anew does not count. */
  @Column('timestamptz', { default: () => 'clock_timestamp()' })
  updatedAt!: Date;
}
