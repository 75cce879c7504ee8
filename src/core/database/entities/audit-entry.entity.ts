import { Check, Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';
import type { ActorKind } from '../../types/actor';

/** The audit log of changes. Immutable; it outlives its subjects. */
@Entity('audit_entry')
@Check(
  'audit_entry_actor_check',
  `actor_kind IN ('user', 'operator', 'command', 'system') AND (actor_user_id IS NOT NULL) = (actor_kind IN ('user', 'operator'))`,
)
@Index('audit_entry_time_index', ['organizationId', 'createdAt', 'id'])
@Index('audit_entry_action_index', ['organizationId', 'action', 'createdAt', 'id'])
@Index('audit_entry_actor_index', ['organizationId', 'actorUserId', 'createdAt', 'id'], {
  where: 'actor_user_id IS NOT NULL',
})
@Index('audit_entry_request_index', ['requestId'], { where: 'request_id IS NOT NULL' })
export class AuditEntryEntity {
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'audit_entry_pkey',
  })
  id!: string;

  /** `null`: not specific to one organization. */
  @Column('uuid', { nullable: true })
  organizationId!: string | null;

  @Column('text')
  actorKind!: ActorKind;

  @Column('uuid', { nullable: true })
  actorUserId!: string | null;

  @Column('text', { nullable: true })
  address!: string | null;

  @Column('text', { nullable: true })
  requestId!: string | null;

  /** For example `key.created`. */
  @Column('text')
  action!: string;

  @Column('text')
  targetType!: string;

  @Column('text')
  targetId!: string;

  /** Only the changed fields; never a secret. */
  @Column('jsonb', { nullable: true })
  before!: object | null;

  @Column('jsonb', { nullable: true })
  after!: object | null;

  @Column('timestamptz', { default: () => 'clock_timestamp()' })
  createdAt!: Date;
}
