import type { OnApplicationShutdown } from '@nestjs/common';
import type { Mailbox } from '../types/mailbox';
import { MAIL_QUEUE_OPTIONS, MailQueue, type MailQueueOptions } from './mail-queue';
import { Mailer, type Mail } from './mailer';

const TIMEOUTS = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 30_000 };
const LAST_WORDS_MS = 5_000;

/** Sends mails through the configured SMTP server, with TLS if offered. */
export class SmtpMailer extends Mailer implements OnApplicationShutdown {
  readonly destination = { kind: 'server' } as const;
  private readonly queue: MailQueue;

  constructor(
    private readonly url: string,
    private readonly from: Mailbox,
    options: MailQueueOptions = MAIL_QUEUE_OPTIONS,
  ) {
    super();
    this.queue = new MailQueue((mail) => this.transmit(mail), options);
  }

  override async send(mail: Mail): Promise<void> {
    this.queue.add(mail);
  }

  override deliver(mail: Mail): Promise<boolean> {
    return this.queue.deliver(mail);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.queue.close(LAST_WORDS_MS);
  }

  /** One connection per mail: volume is low, and idle connections would break. */
  private async transmit({ to, subject, text }: Mail): Promise<void> {
    // Loaded with the first mail.
    const { createTransport } = await import('nodemailer');
    const transport = createTransport({ url: this.url, ...TIMEOUTS, disableFileAccess: true, disableUrlAccess: true });
    try {
      // Addresses are passed as objects, which are not parsed, so one cannot become two. The sender is copied because
      // nodemailer writes into the address objects of a message, and the configuration is frozen.
      await transport.sendMail({ from: { ...this.from }, to: { name: '', address: to }, subject, text });
    } finally {
      transport.close();
    }
  }
}
