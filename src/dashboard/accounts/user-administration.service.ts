import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { recordAudit } from '../../core/database/audit-log';
import type { Actor } from '../../core/types/actor';
import { CLOCK, type Clock } from '../../core/time/clock';
import { parseEmailAddress } from '../../core/types/email-address';
import { GatewayError } from '../../core/errors/gateway-error';
import { uuidV7 } from '../../core/types/ids';
import type { Role } from '../../core/types/role';
import { OrganizationMemberEntity } from '../../core/database/entities/organization-member.entity';
import { OrganizationEntity } from '../../core/database/entities/organization.entity';
import { UserAccountEntity, type UserStatus } from '../../core/database/entities/user-account.entity';
import { UserTokenEntity } from '../../core/database/entities/user-token.entity';
import { parseDisplayName } from '../organizations/display-name';
import { PasswordHasher } from './password-hasher';
import { parseNewPassword } from './password-rules';
import { SessionService } from './session.service';
import { lockUser, userNotFound } from './user-rows';

export interface NewUser {
  readonly email: string;
  readonly name: string;
  readonly password: string;
  readonly isOperator: boolean;
  readonly membership: { readonly organizationId: string; readonly role: Role } | null;
}

/** 96 random bits: infeasible to guess, still short enough to type. */
const GENERATED_PASSWORD_BYTES = 12;

export function generatePassword(): string {
  return randomBytes(GENERATED_PASSWORD_BYTES).toString('base64url');
}

/** Account administration by operators. */
@Injectable()
export class UserAdministrationService {
  constructor(
    private readonly dataSource: DataSource,
    @Inject(CLOCK) private readonly clock: Clock,
    private readonly hasher: PasswordHasher,
    private readonly sessions: SessionService,
  ) {}

  /**
   * Creates a verified account. @throws GatewayError `validation_failed`, `not_found` for an unknown organization,
   * `conflict` for a registered e-mail.
   */
  async create(input: NewUser, actor: Actor): Promise<UserAccountEntity> {
    const address = parseEmailAddress(input.email);
    const name = parseDisplayName(input.name);
    const passwordHash = await this.hasher.hash(parseNewPassword(input.password));
    const id = uuidV7(this.clock.now());
    return this.dataSource.transaction(async (manager) => {
      const { isOperator, membership } = input;
      if (await manager.existsBy(UserAccountEntity, { emailKey: address.emailKey })) {
        throw new GatewayError('conflict', 'An account with this e-mail already exists.');
      }
      const emailVerifiedAt = new Date(this.clock.now());
      await manager.insert(UserAccountEntity, { id, ...address, name, passwordHash, isOperator, emailVerifiedAt });
      if (membership !== null) await addMember(manager, id, membership);
      await recordAudit(manager, {
        organizationId: membership?.organizationId ?? null,
        actor,
        action: 'user.created',
        target: { type: 'user', id },
        after: { name, is_operator: isOperator, role: membership?.role ?? null },
      });
      return manager.findOneByOrFail(UserAccountEntity, { id });
    });
  }

  /** All users, oldest first. */
  list(): Promise<UserAccountEntity[]> {
    return this.dataSource.manager.find(UserAccountEntity, { order: { createdAt: 'ASC', id: 'ASC' } });
  }

  /**
   * Disables the account and ends the user's sessions and mailed tokens at once.
   * @throws GatewayError `not_found`, `conflict` for the caller's own account: the last operator could not undo it.
   */
  disable(email: string, actor: Actor): Promise<UserAccountEntity> {
    return this.setStatus(email, 'disabled', actor);
  }

  /** Lets the user sign in again. @throws GatewayError `not_found`. */
  enable(email: string, actor: Actor): Promise<UserAccountEntity> {
    return this.setStatus(email, 'active', actor);
  }

  /**
   * Grants or revokes the operator flag, from the next request on.
   * @throws GatewayError `not_found`, `conflict` for an unverified account, which may not belong to the owner of the
   * e-mail.
   */
  setOperator(email: string, isOperator: boolean, actor: Actor): Promise<UserAccountEntity> {
    return this.change(email, async (manager, user) => {
      if (isOperator && user.emailVerifiedAt === null) {
        throw new GatewayError('conflict', 'The e-mail address of this account is not verified.');
      }
      await manager.update(UserAccountEntity, { id: user.id }, { isOperator });
      await recordChange(manager, user.id, 'user.operator_set', actor, {
        before: { is_operator: user.isOperator },
        after: { is_operator: isOperator },
      });
      return { ...user, isOperator };
    });
  }

  /**
   * Sets the password and ends the user's sessions and mailed tokens. @throws GatewayError `not_found`,
   * `validation_failed`.
   */
  async setPassword(email: string, newPassword: string, actor: Actor): Promise<UserAccountEntity> {
    const passwordHash = await this.hasher.hash(parseNewPassword(newPassword));
    return this.change(email, async (manager, user) => {
      await manager.update(UserAccountEntity, { id: user.id }, { passwordHash });
      await this.endSessionsAndTokens(manager, user.id);
      await recordChange(manager, user.id, 'user.password_set', actor);
      return user;
    });
  }

  private setStatus(email: string, status: UserStatus, actor: Actor): Promise<UserAccountEntity> {
    return this.change(email, async (manager, user) => {
      if (status === 'disabled' && user.id === actor.userId) {
        throw new GatewayError('conflict', 'You cannot disable your own account.');
      }
      await manager.update(UserAccountEntity, { id: user.id }, { status });
      if (status === 'disabled') await this.endSessionsAndTokens(manager, user.id);
      await recordChange(manager, user.id, status === 'disabled' ? 'user.disabled' : 'user.enabled', actor, {
        before: { status: user.status },
        after: { status },
      });
      return { ...user, status };
    });
  }

  private async endSessionsAndTokens(manager: EntityManager, userId: string): Promise<void> {
    await this.sessions.endAll(userId, manager);
    await manager.delete(UserTokenEntity, { userId });
  }

  private change(
    email: string,
    work: (manager: EntityManager, user: UserAccountEntity) => Promise<UserAccountEntity>,
  ): Promise<UserAccountEntity> {
    const { emailKey } = parseEmailAddress(email);
    return this.dataSource.transaction(async (manager) => {
      const user = await lockUser(manager, { emailKey });
      if (user === null) throw userNotFound();
      return work(manager, user);
    });
  }
}

async function addMember(
  manager: EntityManager,
  userId: string,
  { organizationId, role }: NonNullable<NewUser['membership']>,
): Promise<void> {
  const known = await manager.existsBy(OrganizationEntity, { id: organizationId });
  if (!known) throw new GatewayError('not_found', 'There is no such organization.');
  await manager.insert(OrganizationMemberEntity, { organizationId, userId, role });
}

function recordChange(
  manager: EntityManager,
  userId: string,
  action: string,
  actor: Actor,
  change: { readonly before?: object; readonly after?: object } = {},
): Promise<void> {
  const target = { type: 'user', id: userId };
  return recordAudit(manager, { organizationId: null, actor, action, target, ...change });
}
