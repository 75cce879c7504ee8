import { GatewayError } from '../common/errors/gateway-error';
import { Mailer } from './mailer';

/** Production without a mail server: says so instead of leaving people waiting for a mail. */
export class UnconfiguredMailer extends Mailer {
  override async send(): Promise<void> {
    this.assertConfigured();
  }

  override assertConfigured(): void {
    throw new GatewayError('not_configured', 'This service cannot send mails: its operator has not set SMTP_URL.');
  }
}
