import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Logger } from '@nestjs/common';
import { SMTPServer } from 'smtp-server';
import { SmtpMailer } from './smtp-mailer';

interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly text: string;
}

/** Takes mails, after having turned away as many as told with a reply of its choice. */
class MailServer {
  readonly received: ReceivedMail[] = [];
  attempts = 0;
  private waiting: (() => void) | null = null;
  private readonly server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onMailFrom: (_address, _session, callback) => {
      this.attempts++;
      this.waiting?.();
      const code = this.refusals.shift();
      callback(
        code === undefined ? null : Object.assign(new Error('not from ada@example.com'), { responseCode: code }),
      );
    },
    onData: (stream, { envelope }, callback) => {
      void text(stream).then((content) => {
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
        this.received.push({ from, to: envelope.rcptTo.map(({ address }) => address), text: content });
        callback(null);
        this.waiting?.();
      });
    },
  });

  constructor(private readonly refusals: number[] = []) {
    this.server.on('error', () => undefined);
  }

  async listen(): Promise<string> {
    const server = this.server.listen(0, '127.0.0.1');
    if (!server.listening) await once(server, 'listening');
    return `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => (this.waiting = resolve));
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.server.close(() => resolve()));
  }
}

const FROM = { name: 'The Gateway', address: 'gateway@example.com' };
const MAIL = { to: 'ada@example.com', subject: 'Grüße', text: 'A link: https://gateway.example.com/#token=abc\n' };
const QUICK = { maxPending: 3, retryDelaysMs: [1, 1, 1] };

describe('the mailer', () => {
  let server: MailServer;
  let mailer: SmtpMailer;

  async function start(refusals: number[], options = QUICK): Promise<void> {
    server = new MailServer(refusals);
    mailer = new SmtpMailer(await server.listen(), FROM, options);
  }
  let warnings: jest.SpyInstance;

  beforeEach(() => {
    warnings = jest.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
    jest.spyOn(Logger.prototype, 'error').mockReturnValue(undefined);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await mailer.onApplicationShutdown();
    await server.close();
  });

  it('sends a mail in plain text to its one recipient', async () => {
    await start([]);
    await mailer.send(MAIL);
    await server.until(() => server.received.length === 1);
    const [mail] = server.received;
    expect(mail).toMatchObject({ from: 'gateway@example.com', to: ['ada@example.com'] });
    expect(mail?.text).toContain('From: The Gateway <gateway@example.com>');
    expect(mail?.text).toContain('To: ada@example.com');
    expect(mail?.text).toContain('A link: https://gateway.example.com/#token=abc');
  });

  it('makes one recipient of whatever it is given', async () => {
    await start([]);
    await mailer.send({ ...MAIL, to: 'ada@example.com, mallory@example.com' });
    await mailer.onApplicationShutdown();
    expect(server.received.flatMap(({ to }) => to)).not.toContain('mallory@example.com');
  });

  it('tries again when the server cannot take it now, and not when it never will', async () => {
    await start([451, 451]);
    await mailer.send(MAIL);
    await server.until(() => server.received.length === 1);
    expect(server.attempts).toBe(3);

    await server.close();
    await start([550]);
    await mailer.send(MAIL);
    await server.until(() => server.attempts === 1);
    await mailer.onApplicationShutdown();
    expect([server.attempts, server.received.length]).toEqual([1, 0]);
  });

  it('tells the log of a failure, and neither who the mail is for nor what is in it', async () => {
    await start([550]);
    await mailer.send(MAIL);
    await mailer.onApplicationShutdown();
    expect(warnings.mock.calls).toEqual([['A mail could not be sent, and is lost: EENVELOPE 550']]);
  });

  it('tries once more when the process stops, instead of waiting for its turn', async () => {
    await start([451], { maxPending: 3, retryDelaysMs: [3_600_000] });
    await mailer.send(MAIL);
    await server.until(() => server.attempts === 1);
    await mailer.onApplicationShutdown();
    expect(server.received).toHaveLength(1);
  });

  it('takes no more than it may hold, and fails nobody for it', async () => {
    await start([451, 451, 451, 451, 451], { maxPending: 3, retryDelaysMs: [3_600_000] });
    for (let count = 0; count < 5; count++) await mailer.send(MAIL);
    await server.until(() => server.attempts === 3);
    await mailer.onApplicationShutdown();
    expect(server.attempts).toBe(6);
  });
});
