import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { recordAudit } from '../../core/database/audit-log';
import type { Actor } from '../../core/types/actor';
import { CLOCK, type Clock } from '../../core/time/clock';
import { parseEmailAddress } from '../../core/types/email-address';
import { UserAccountEntity } from '../../core/database/entities/user-account.entity';
import { AccountMails } from './account-mails';
import { EmailVerification } from './email-verification';
import { FollowUpWork } from './follow-up-work';
import { recordRequest, MailRequests } from './mail-requests';
import { PasswordHasher } from './password-hasher';
import { parseNewPassword } from './password-rules';
import { SessionService } from './session.service';
import { SignInHistoryStore } from './sign-in-history';
import { UserTokenService } from './user-token.service';
import { asUser, findUserId, lockUser } from './user-rows';

/** Resets a password by a token that is mailed to the account. */
@Injectable()
export class PasswordResetService {
  constructor(
    private readonly dataSource: DataSource,
    @Inject(CLOCK) private readonly clock: Clock,
    private readonly hasher: PasswordHasher,
    private readonly tokens: UserTokenService,
    private readonly sessions: SessionService,
    private readonly verification: EmailVerification,
    private readonly history: SignInHistoryStore,
    private readonly requests: MailRequests,
    private readonly mails: AccountMails,
    private readonly followUps: FollowUpWork,
  ) {}

  /**
   * Resolves when the request is in the audit log. A mail follows only if the e-mail has an account, which the response
   * does not reveal. None follows when the address has reached its mail limit: the newest mail is still valid.
   * @throws GatewayError `rate_limited`, `not_configured`, `service_unavailable`.
   */
  async request(email: string, visitor: Actor): Promise<void> {
    const { emailKey } = parseEmailAddress(email);
    this.mails.assertConfigured();
    this.followUps.assertRoom();
    await this.requests.countRequest(visitor);
    const userId = await this.dataSource.transaction(async (manager) => {
      const id = await findUserId(manager, emailKey);
      await recordRequest(manager, 'password_reset.requested', id, visitor);
      return id;
    });
    if (userId !== undefined) this.followUps.add(() => this.sendToken(userId, visitor));
  }

  private async sendToken(userId: string, visitor: Actor): Promise<void> {
    const mail = await this.dataSource.transaction(async (manager) => {
      const user = await lockUser(manager, { id: userId, status: 'active' });
      if (user === null) return null;
      await this.requests.countMail('password_reset', user.emailKey, visitor);
      return { to: user.email, token: await this.tokens.issue(manager, userId, 'reset_password') };
    });
    if (mail !== null) await this.mails.sendPasswordReset(mail.to, mail.token);
  }

  /**
   * Sets the password, ends every session and verifies the e-mail, because the token was mailed to it.
   * @throws GatewayError `not_found` for a token that is unknown or no longer valid; `validation_failed`,
   * `rate_limited`.
   */
  async confirm(token: string, newPassword: string, visitor: Actor): Promise<void> {
    const password = parseNewPassword(newPassword);
    // An invalid token costs no hash.
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
    // The owner has just proved access to the mailbox, so attempts and requests by others must not lock them out.
    await this.history.addReset(user.emailKey);
    await this.requests.forgetSent('password_reset', user.emailKey, visitor, this.clock.now());
    await this.mails.notifyPasswordChanged(user.email);
  }
}
