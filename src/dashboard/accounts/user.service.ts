import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { recordAudit } from '../../core/database/audit-log';
import type { Actor } from '../../core/types/actor';
import { GatewayError } from '../../core/errors/gateway-error';
import { requireUuid } from '../../core/types/require-uuid';
import type { Role } from '../../core/types/role';
import { UserAccountEntity } from '../../core/database/entities/user-account.entity';
import { UserTokenEntity } from '../../core/database/entities/user-token.entity';
import { parseDisplayName } from '../organizations/display-name';
import { AccountMails } from './account-mails';
import { invalidCredentials, LoginService } from './login.service';
import { PasswordHasher } from './password-hasher';
import { parseNewPassword } from './password-rules';
import { type IssuedSession, type SessionOrigin, SessionService } from './session.service';
import { requireLockedUser, userNotFound } from './user-rows';

/** A membership, as the organization picker shows it. */
export interface UserMembership {
  readonly organizationId: string;
  readonly name: string;
  readonly role: Role;
}

/** Limited to what a picker can show; the list of organizations has all of them. */
const FIND_MEMBERSHIPS = `
  SELECT o.id AS "organizationId", o.name, m.role
    FROM organization_member m JOIN organization o ON o.id = m.organization_id
   WHERE m.user_id = $1 ORDER BY m.created_at, o.id LIMIT 100`;

/** Operations of signed-in users on their accounts. */
@Injectable()
export class UserService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly hasher: PasswordHasher,
    private readonly sessions: SessionService,
    private readonly logins: LoginService,
    private readonly mails: AccountMails,
  ) {}

  /** @throws GatewayError `not_found`. */
  async require(userId: string): Promise<UserAccountEntity> {
    const user = await this.dataSource.manager.findOneBy(UserAccountEntity, { id: userId });
    if (user === null) throw userNotFound();
    return user;
  }

  /** Oldest first, 100 at most. */
  findMemberships(userId: string): Promise<UserMembership[]> {
    return this.dataSource.query<UserMembership[]>(FIND_MEMBERSHIPS, [userId]);
  }

  /** @throws GatewayError `validation_failed`. */
  rename(userId: string, newName: string, actor: Actor): Promise<UserAccountEntity> {
    const name = parseDisplayName(newName);
    return this.dataSource.transaction(async (manager) => {
      const user = await requireLockedUser(manager, userId);
      await manager.update(UserAccountEntity, { id: userId }, { name });
      await recordAudit(manager, {
        organizationId: null,
        actor,
        action: 'user.updated',
        target: { type: 'user', id: userId },
        before: { name: user.name },
        after: { name },
      });
      return { ...user, name };
    });
  }

  /**
   * Ends every session, including the current one, and returns a new one.
   * @throws GatewayError `invalid_credentials` for a wrong current password, `validation_failed`, `rate_limited`.
   */
  async changePassword(
    userId: string,
    passwords: { readonly current: string; readonly next: string },
    origin: SessionOrigin,
    actor: Actor,
  ): Promise<IssuedSession> {
    const next = parseNewPassword(passwords.next, 'new_password');
    const { emailKey } = await this.require(userId);
    // Counted as a login attempt: a stolen session must not allow unlimited guesses.
    const { user: verified } = await this.logins.authenticate(emailKey, passwords.current, actor);
    const passwordHash = await this.hasher.hash(next);
    const session = await this.dataSource.transaction(async (manager) => {
      const user = await requireLockedUser(manager, userId);
      if (user.status !== 'active' || user.passwordHash !== verified.passwordHash) throw invalidCredentials();
      await manager.update(UserAccountEntity, { id: userId }, { passwordHash });
      await this.sessions.endAll(userId, manager);
      await manager.delete(UserTokenEntity, { userId, purpose: 'reset_password' });
      const target = { type: 'user', id: userId };
      await recordAudit(manager, { organizationId: null, actor, action: 'user.password_changed', target });
      return this.sessions.create(userId, origin, manager);
    });
    await this.mails.notifyPasswordChanged(verified.email);
    return session;
  }

  /** Signs out. */
  async endSession(userId: string, sessionId: string, actor: Actor): Promise<void> {
    await this.dataSource.transaction(async (manager) => {
      const id = requireUuid(sessionId, SESSION_NOT_FOUND);
      const known = await this.sessions.end(id, userId, manager);
      if (!known) throw new GatewayError('not_found', SESSION_NOT_FOUND);
      const target = { type: 'session', id };
      await recordAudit(manager, { organizationId: null, actor, action: 'session.ended', target });
    });
  }
}

const SESSION_NOT_FOUND = 'There is no such session.';
