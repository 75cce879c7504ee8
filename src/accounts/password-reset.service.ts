import type { DataSource } from 'typeorm';
import { recordAudit } from '../audit/audit-log';
import type { Actor } from '../common/actor';
import type { Clock } from '../common/clock';
import { parseEmailAddress } from '../common/email-address';
import { UserAccountEntity } from '../database/entities/user-account.entity';
import type { AccountMails } from './account-mails';
import { loginLogOfAccount } from './attempt-logs';
import type { AttemptThrottle } from './attempt-throttle';
import type { EmailVerification } from './email-verification';
import { recordRequest, type MailRequests } from './mail-requests';
import type { PasswordHasher } from './password-hasher';
import { parseNewPassword } from './password-rules';
import type { SessionService } from './session.service';
import type { UserTokenService } from './user-token.service';
import { asUser, lockUser } from './user-rows';

/** A new password for whoever reads the mails of the account. */
export class PasswordResetService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
    private readonly hasher: PasswordHasher,
    private readonly tokens: UserTokenService,
    private readonly sessions: SessionService,
    private readonly verification: EmailVerification,
    private readonly throttle: AttemptThrottle,
    private readonly requests: MailRequests,
    private readonly mails: AccountMails,
  ) {}

  /** Sends a mail when the e-mail has an account; nobody learns whether. @throws GatewayError `rate_limited`, `not_configured`. */
  async request(email: string, visitor: Actor): Promise<void> {
    const { emailKey } = parseEmailAddress(email);
    this.mails.assertConfigured();
    await this.requests.count(emailKey, visitor);
    const mail = await this.dataSource.transaction(async (manager) => {
      const user = await lockUser(manager, { emailKey });
      await recordRequest(manager, 'password_reset.requested', user?.id, visitor);
      if (user === null || user.status !== 'active') return null;
      return { to: user.email, token: await this.tokens.issue(manager, user.id, 'reset_password') };
    });
    if (mail !== null) await this.mails.sendPasswordReset(mail.to, mail.token);
  }

  /**
   * Sets the password, ends every session and verifies the e-mail, which the token has come to.
   * @throws GatewayError `not_found` for a token that is not, or no longer, good; `validation_failed`, `rate_limited`.
   */
  async confirm(token: string, newPassword: string, visitor: Actor): Promise<void> {
    const password = parseNewPassword(newPassword);
    // A token that is none costs no hash.
    await this.tokens.peek(this.dataSource.manager, token, 'reset_password');
    const passwordHash = await this.hasher.hash(password);
    const user = await this.dataSource.transaction(async (manager) => {
      const owner = await this.tokens.use(manager, token, 'reset_password');
      const userId = owner.id;
      const actor = asUser(visitor, userId);
      await manager.update(UserAccountEntity, { id: userId }, { passwordHash });
      await this.sessions.endAll(userId, manager);
      await this.verification.complete(manager, owner, this.clock.now(), actor);
      await this.tokens.endAll(manager, userId);
      const target = { type: 'user', id: userId };
      await recordAudit(manager, { organizationId: null, actor, action: 'user.password_reset', target });
      return owner;
    });
    // Who has just proved to be the owner is not kept out by those who have guessed.
    await this.throttle.clear(loginLogOfAccount(user.emailKey), this.clock.now());
    await this.mails.notifyPasswordChanged(user.email);
  }
}
