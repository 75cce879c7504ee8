import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { ApiKeyEntity } from './api-key.entity';
import { UserSessionEntity } from './user-session.entity';

/** A secret of a playground API key that a dashboard page uses until its session ends. */
@Entity('playground_secret')
@Check('playground_secret_digest_check', 'octet_length(digest) = 32')
@Index('playground_secret_api_key_index', ['apiKeyId', 'createdAt'])
@Index('playground_secret_session_index', ['sessionId'])
export class PlaygroundSecretEntity {
  /** HMAC-SHA256 of the key. */
  @PrimaryColumn('bytea', { primaryKeyConstraintName: 'playground_secret_pkey' })
  digest!: Buffer;

  @Column('uuid')
  @ForeignKey(() => ApiKeyEntity, { name: 'playground_secret_api_key_id_fkey' })
  apiKeyId!: string;

  @Column('uuid')
  @ForeignKey(() => UserSessionEntity, { name: 'playground_secret_session_id_fkey', onDelete: 'CASCADE' })
  sessionId!: string;

  @Column('timestamptz')
  createdAt!: Date;

  @Column('timestamptz')
  expiresAt!: Date;
}
