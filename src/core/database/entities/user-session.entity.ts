import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { UserAccountEntity } from './user-account.entity';

/** An active login session. Ended sessions have no row. */
@Entity('user_session')
@Check('user_session_digest_check', 'octet_length(digest) = 32')
@Index('user_session_digest_index', ['digest'], { unique: true })
@Index('user_session_user_index', ['userId'])
@Index('user_session_expiry_index', ['expiresAt'])
export class UserSessionEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'user_session_pkey' })
  id!: string;

  @Column('uuid')
  @ForeignKey(() => UserAccountEntity, { name: 'user_session_user_id_fkey', onDelete: 'CASCADE' })
  userId!: string;

  /** SHA-256 of the token in the cookie. */
  @Column('bytea', { select: false })
  digest!: Buffer;

  @Column('text', { nullable: true })
  address!: string | null;

  @Column('text', { nullable: true })
  userAgent!: string | null;

  @Column('timestamptz')
  createdAt!: Date;

  /** Written once a minute at most. */
  @Column('timestamptz')
  lastSeenAt!: Date;

  /** Absolute limit, independent of use. */
  @Column('timestamptz')
  expiresAt!: Date;
}
