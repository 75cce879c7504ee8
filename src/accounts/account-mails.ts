import type { AppConfig } from '../config/app-config';
import { dashboardLink } from '../mail/dashboard-link';
import type { Mail, Mailer } from '../mail/mailer';

/** What the mails about accounts say. Nothing in them is of somebody else's choosing: they must not carry an advertisement. */
export class AccountMails {
  constructor(
    private readonly mailer: Mailer,
    private readonly config: AppConfig,
  ) {}

  /** @throws GatewayError `not_configured` */
  assertConfigured(): void {
    this.mailer.assertConfigured();
  }

  async sendVerification(to: string, token: string): Promise<void> {
    await this.send(to, 'Confirm your e-mail address', [
      'Somebody, hopefully you, has registered with this e-mail address. Confirm that it is yours:',
      dashboardLink(this.config, 'verify-email', token),
      `Or enter this code: ${token}`,
      'It can be used once, within 24 hours. If it was not you who registered, ignore this mail: nothing happens then.',
    ]);
  }

  async sendAlreadyRegistered(to: string): Promise<void> {
    await this.send(to, 'You have an account already', [
      'Somebody, perhaps you, has tried to register with this e-mail address, which has an account already.',
      'Nothing was changed. If it was you, sign in, or reset your password if you do not remember it.',
    ]);
  }

  async sendPasswordReset(to: string, token: string): Promise<void> {
    await this.send(to, 'Reset your password', [
      'Somebody, hopefully you, wants to set a new password for the account with this e-mail address. Set it here:',
      dashboardLink(this.config, 'reset-password', token),
      `Or enter this code: ${token}`,
      'It can be used once, within an hour. If it was not you, ignore this mail: your password stays as it is.',
    ]);
  }

  async sendPasswordChoice(to: string, token: string): Promise<void> {
    await this.send(to, 'Confirm your e-mail address and choose a password', [
      'Somebody, hopefully you, has registered with this e-mail address more than once. Confirm that it is yours with a new password:',
      dashboardLink(this.config, 'reset-password', token),
      `Or enter this code: ${token}`,
      'It can be used once, within an hour. If it was not you who registered, ignore this mail: nothing happens then.',
    ]);
  }

  /** A courtesy: where no mails can be sent, there is none. */
  async notifyPasswordChanged(to: string): Promise<void> {
    await this.send(to, 'Your password was changed', [
      'The password of the account with this e-mail address was changed. All other sessions have ended.',
      'If it was not you, reset your password at once.',
    ]).catch(() => undefined);
  }

  private async send(to: string, subject: string, paragraphs: readonly string[]): Promise<void> {
    const mail: Mail = { to, subject, text: `${paragraphs.join('\n\n')}\n` };
    await this.mailer.send(mail);
  }
}
