import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { UserAccountEntity } from './user-account.entity';

export type UserTokenPurpose = 'verify_email' | 'reset_password';

/** A mailed token that proves ownership of an address. Used tokens have no row. */
@Entity('user_token')
@Check('user_token_purpose_check', `purpose IN ('verify_email', 'reset_password')`)
@Check('user_token_digest_check', 'octet_length(digest) = 32')
@Index('user_token_digest_index', ['digest'], { unique: true })
@Index('user_token_user_index', ['userId', 'purpose'])
@Index('user_token_expiry_index', ['expiresAt'])
export class UserTokenEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'user_token_pkey' })
  id!: string;

  @Column('uuid')
  @ForeignKey(() => UserAccountEntity, { name: 'user_token_user_id_fkey', onDelete: 'CASCADE' })
  userId!: string;

  @Column('text')
  purpose!: UserTokenPurpose;

  /** SHA-256 of the token. */
  @Column('bytea', { select: false })
  digest!: Buffer;

  @Column('timestamptz')
  createdAt!: Date;

  @Column('timestamptz')
  expiresAt!: Date;
}
