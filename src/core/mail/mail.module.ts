/**
 * Sends the gateway's mails. The settings choose the implementation of `Mailer`: an SMTP server, or the log and a
 * folder, or in production none.
 */
import { join } from 'node:path';
import { Module } from '@nestjs/common';
import { CLOCK, type Clock } from '../time/clock';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import { FileMailer } from './file-mailer';
import { Mailer } from './mailer';
import { SmtpMailer } from './smtp-mailer';
import { UnconfiguredMailer } from './unconfigured-mailer';

export function createMailer({ mail, production, dataDir }: AppConfig, clock: Clock): Mailer {
  if (mail.smtpUrl !== null && mail.from !== null) return new SmtpMailer(mail.smtpUrl, mail.from);
  return production ? new UnconfiguredMailer() : new FileMailer(join(dataDir, 'mail'), clock);
}

@Module({
  providers: [{ provide: Mailer, inject: [APP_CONFIG, CLOCK], useFactory: createMailer }],
  exports: [Mailer],
})
export class MailModule {}
