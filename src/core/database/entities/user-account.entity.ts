import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

export const USER_STATUSES = ['active', 'disabled'] as const;
export type UserStatus = (typeof USER_STATUSES)[number];

/** A user account. Permissions are in the memberships; operators are platform staff. */
@Entity('user_account')
@Check('user_account_status_check', `status IN ('active', 'disabled')`)
@Check('user_account_name_check', 'char_length(name) BETWEEN 1 AND 200')
@Index('user_account_email_index', ['emailKey'], { unique: true })
export class UserAccountEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'user_account_pkey' })
  id!: string;

  /** As entered. */
  @Column('text')
  email!: string;

  /** Normalized, in lower case: two spellings of an address are one account. */
  @Column('text')
  emailKey!: string;

  @Column('text')
  name!: string;

  /** Argon2id; selected only on request. */
  @Column('text', { select: false })
  passwordHash!: string;

  @Column('text', { default: 'active' })
  status!: UserStatus;

  @Column('boolean', { default: false })
  isOperator!: boolean;

  @Column('timestamptz', { nullable: true })
  emailVerifiedAt!: Date | null;

  /** The organization to create when the e-mail is verified; `null`: none. */
  @Column('text', { nullable: true })
  signupOrganizationName!: string | null;

  @Column('timestamptz', { nullable: true })
  lastLoginAt!: Date | null;

  @Column('timestamptz', { default: () => 'clock_timestamp()' })
  createdAt!: Date;
}
