import { Inject, Injectable } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { dashboardLink } from '../../core/mail/dashboard-link';
import { type Mail, Mailer } from '../../core/mail/mailer';

/** Mails about accounts. They contain no text that a sender can choose, so they cannot be abused for advertising. */
@Injectable()
export class AccountMails {
  constructor(
    private readonly mailer: Mailer,
    @Inject(APP_CONFIG) private readonly config: AppConfig,
  ) {}

  /** @throws GatewayError `not_configured` */
  assertConfigured(): void {
    this.mailer.assertConfigured();
  }

  async sendVerification(to: string, token: string): Promise<void> {
    await this.send(to, 'Confirm your e-mail address', [
      'An account was registered with this e-mail address. To confirm that the address is yours, open:',
      dashboardLink(this.config, 'verify-email', token),
      `Or enter this code: ${token}`,
      'The link can be used once, within 24 hours. If you did not register, ignore this mail.',
    ]);
  }

  async sendAlreadyRegistered(to: string): Promise<void> {
    await this.send(to, 'You already have an account', [
      'We received a registration for this e-mail address, but it already has an account.',
      'Nothing was changed. If this was you, sign in, or reset your password if you have forgotten it.',
    ]);
  }

  async sendPasswordReset(to: string, token: string): Promise<void> {
    await this.send(to, 'Reset your password', [
      'We received a request to reset the password of the account with this e-mail address. To set a new one, open:',
      dashboardLink(this.config, 'reset-password', token),
      `Or enter this code: ${token}`,
      'The link can be used once, within an hour. If this was not you, ignore this mail: your password stays unchanged.',
    ]);
  }

  async sendPasswordChoice(to: string, token: string): Promise<void> {
    await this.send(to, 'Confirm your e-mail address and choose a password', [
      'This e-mail address was registered more than once. To confirm that it is yours and choose a password, open:',
      dashboardLink(this.config, 'reset-password', token),
      `Or enter this code: ${token}`,
      'The link can be used once, within an hour. If you did not register, ignore this mail.',
    ]);
  }

  /** Best effort: ignores a mail server that fails or is not configured. */
  async notifyPasswordChanged(to: string): Promise<void> {
    await this.send(to, 'Your password was changed', [
      'The password of the account with this e-mail address was changed. All other sessions have ended.',
      'If this was not you, reset your password at once.',
    ]).catch(() => undefined);
  }

  private async send(to: string, subject: string, paragraphs: readonly string[]): Promise<void> {
    const mail: Mail = { to, subject, text: `${paragraphs.join('\n\n')}\n` };
    await this.mailer.send(mail);
  }
}
