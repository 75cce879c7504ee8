import { GatewayError } from '../errors/gateway-error';
import { Mailer } from './mailer';

/** Production without a mail server: refuses operations that need a mail. */
export class UnconfiguredMailer extends Mailer {
  readonly destination = { kind: 'none' } as const;

  override async send(): Promise<void> {
    this.assertConfigured();
  }

  override assertConfigured(): void {
    throw new GatewayError('not_configured', 'This service cannot send mails: SMTP_URL is not set.');
  }
}
