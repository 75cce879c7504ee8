import type { OnApplicationShutdown } from '@nestjs/common';
import type { Mailbox } from '../common/mailbox';
import { MAIL_QUEUE_OPTIONS, MailQueue, type MailQueueOptions } from './mail-queue';
import { Mailer, type Mail } from './mailer';

const TIMEOUTS = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 30_000 };
const LAST_WORDS_MS = 5_000;

/** Hands mails to the SMTP server of the operator, over TLS where it offers that. */
export class SmtpMailer extends Mailer implements OnApplicationShutdown {
  private readonly queue: MailQueue;

  constructor(
    private readonly url: string,
    private readonly from: Mailbox,
    options: MailQueueOptions = MAIL_QUEUE_OPTIONS,
  ) {
    super();
    this.queue = new MailQueue((mail) => this.deliver(mail), options);
  }

  override async send(mail: Mail): Promise<void> {
    this.queue.add(mail);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.queue.close(LAST_WORDS_MS);
  }

  /** A connection for each mail: there are few, and none breaks for having been idle. */
  private async deliver({ to, subject, text }: Mail): Promise<void> {
    // Loaded with the first mail: a gateway that sends none does without.
    const { createTransport } = await import('nodemailer');
    const transport = createTransport({ url: this.url, ...TIMEOUTS, disableFileAccess: true, disableUrlAccess: true });
    try {
      // As objects, addresses are not parsed: none becomes two.
      await transport.sendMail({ from: this.from, to: { name: '', address: to }, subject, text });
    } finally {
      transport.close();
    }
  }
}
