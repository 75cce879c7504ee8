import type { DataSource } from 'typeorm';
import { recordAudit } from '../audit/audit-log';
import type { Actor } from '../common/actor';
import { GatewayError } from '../common/errors/gateway-error';
import { requireUuid } from '../common/require-uuid';
import type { Role } from '../common/role';
import { UserAccountEntity } from '../database/entities/user-account.entity';
import { UserTokenEntity } from '../database/entities/user-token.entity';
import { parseName } from '../organizations/api-key-settings';
import type { AccountMails } from './account-mails';
import { invalidCredentials, type LoginService } from './login.service';
import type { PasswordHasher } from './password-hasher';
import { parseNewPassword } from './password-rules';
import type { IssuedSession, SessionOrigin, SessionService } from './session.service';
import { requireLockedUser, userNotFound } from './user-rows';

/** An organization of a user, as a list of those to choose from shows it. */
export interface UserMembership {
  readonly organizationId: string;
  readonly name: string;
  readonly role: Role;
}

/** As many as somebody can choose from; the others are in the list of organizations. */
const FIND_MEMBERSHIPS = `
  SELECT o.id AS "organizationId", o.name, m.role
    FROM organization_member m JOIN organization o ON o.id = m.organization_id
   WHERE m.user_id = $1 ORDER BY m.created_at, o.id LIMIT 100`;

/** What people do with their own accounts once they are signed in. */
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
    const name = parseName(newName);
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
   * Ends every session, also that in which it is asked for, and gives a new one in its place.
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
    // Counted as a login: a session that was left open must not be a way to guess.
    const { user: judged } = await this.logins.authenticate(emailKey, passwords.current, actor);
    const passwordHash = await this.hasher.hash(next);
    const session = await this.dataSource.transaction(async (manager) => {
      const user = await requireLockedUser(manager, userId);
      if (user.status !== 'active' || user.passwordHash !== judged.passwordHash) throw invalidCredentials();
      await manager.update(UserAccountEntity, { id: userId }, { passwordHash });
      await this.sessions.endAll(userId, manager);
      await manager.delete(UserTokenEntity, { userId, purpose: 'reset_password' });
      const target = { type: 'user', id: userId };
      await recordAudit(manager, { organizationId: null, actor, action: 'user.password_changed', target });
      return this.sessions.create(userId, origin, manager);
    });
    await this.mails.notifyPasswordChanged(judged.email);
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
