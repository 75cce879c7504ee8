import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import type { Clock } from '../time/clock';
import { uuidV7 } from '../types/ids';
import { Mailer, type Mail, type MailDestination } from './mailer';

const logger = new Logger('Mail');

/** Replaces a mail server in development: writes each mail to a file and to the log, including links. */
export class FileMailer extends Mailer {
  readonly destination: MailDestination;

  constructor(
    private readonly directory: string,
    private readonly clock: Clock,
  ) {
    super();
    this.destination = { kind: 'folder', path: directory };
  }

  override async send({ to, subject, text }: Mail): Promise<void> {
    const mail = `To: ${to}\nSubject: ${subject}\n\n${text}`;
    logger.log(`this mail was not sent, because SMTP_URL is not set:\n${mail}`);
    try {
      await mkdir(this.directory, { recursive: true, mode: 0o700 });
      // Time-ordered names list mails in the order of writing.
      await writeFile(join(this.directory, `${uuidV7(this.clock.now())}.txt`), mail, { mode: 0o600, flag: 'wx' });
    } catch (error) {
      logger.error({
        event: 'mail_write_failed',
        message: `a mail could not be written to ${this.directory}: ${String(error)}`,
      });
    }
  }
}
