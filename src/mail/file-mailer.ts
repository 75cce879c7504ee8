import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import type { Clock } from '../common/clock';
import { uuidV7 } from '../common/ids';
import { Mailer, type Mail } from './mailer';

const logger = new Logger('Mail');

/** Stands in for a mail server where somebody tries the gateway out: each mail is a file, and in the log, links and all. */
export class FileMailer extends Mailer {
  constructor(
    private readonly directory: string,
    private readonly clock: Clock,
  ) {
    super();
  }

  override async send({ to, subject, text }: Mail): Promise<void> {
    const mail = `To: ${to}\nSubject: ${subject}\n\n${text}`;
    logger.log(`No SMTP_URL is set, so this mail was not sent:\n${mail}`);
    try {
      await mkdir(this.directory, { recursive: true, mode: 0o700 });
      // Named so that they are listed in the order in which they were written.
      await writeFile(join(this.directory, `${uuidV7(this.clock.now())}.txt`), mail, { mode: 0o600, flag: 'wx' });
    } catch (error) {
      logger.error(`A mail could not be written to ${this.directory}: ${String(error)}`);
    }
  }
}
