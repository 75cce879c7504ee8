import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Logger } from '@nestjs/common';
import { SMTPServer } from 'smtp-server';
import { createTestCertificate, trust } from '../../../test/harness/test-certificate';
import { systemClock } from '../time/clock';
import { loadConfig } from '../config/load-config';
import { createMailer } from './mail.module';
import { SmtpMailer } from './smtp-mailer';

interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly text: string;
}

/** Accepts mails after rejecting the given number with the given code. */
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

const MAIL_FROM = 'The Gateway <gateway@example.com>';
const MAIL = { to: 'ada@example.com', subject: 'Grüße', text: 'A link: https://gateway.example.com/#token=abc\n' };
const QUICK = { maxPending: 3, retryDelaysMs: [1, 1, 1] };

describe('the mailer', () => {
  let server: MailServer;
  let mailer: SmtpMailer;

  async function start(refusals: number[], options = QUICK): Promise<void> {
    server = new MailServer(refusals);
    const { smtpUrl, from } = loadConfig({ SMTP_URL: await server.listen(), MAIL_FROM }).mail;
    if (smtpUrl === null || from === null) throw new Error('the mail settings are not read');
    mailer = new SmtpMailer(smtpUrl, from, options);
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

  it('sends to exactly one recipient', async () => {
    await start([]);
    await mailer.send({ ...MAIL, to: 'ada@example.com, mallory@example.com' });
    await mailer.onApplicationShutdown();
    expect(server.received.flatMap(({ to }) => to)).not.toContain('mallory@example.com');
  });

  it('retries temporary failures and not permanent ones', async () => {
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

  it('logs failures without recipient and content', async () => {
    await start([550]);
    await mailer.send(MAIL);
    await mailer.onApplicationShutdown();
    expect(warnings.mock.calls).toEqual([
      [{ event: 'mail_send_failed', message: 'a mail could not be sent, and is lost: EENVELOPE 550' }],
    ]);
  });

  it('retries immediately when the process stops', async () => {
    await start([451], { maxPending: 3, retryDelaysMs: [3_600_000] });
    await mailer.send(MAIL);
    await server.until(() => server.attempts === 1);
    await mailer.onApplicationShutdown();
    expect(server.received).toHaveLength(1);
  });

  it('drops mails above the queue limit without failing requests', async () => {
    await start([451, 451, 451, 451, 451], { maxPending: 3, retryDelaysMs: [3_600_000] });
    for (let count = 0; count < 5; count++) await mailer.send(MAIL);
    await server.until(() => server.attempts === 3);
    await mailer.onApplicationShutdown();
    expect(server.attempts).toBe(6);
  });
});

describe('the mailer of the configuration', () => {
  const USER = { user: 'gateway@example.com', password: 'p@ss/word' };
  const credentials = `${encodeURIComponent(USER.user)}:${encodeURIComponent(USER.password)}`;

  it.each([
    ['STARTTLS', { secure: false }, 'smtp', '?requireTLS=true'],
    ['TLS', { secure: true }, 'smtps', ''],
  ])('signs in to its server over %s, checks its certificate, and sends a mail', async (_name, tls, scheme, query) => {
    const deliveries: object[] = [];
    let delivered = (): void => undefined;
    const delivery = new Promise<void>((resolve) => (delivered = resolve));
    const pair = createTestCertificate(['127.0.0.1']);
    const distrust = trust(pair);
    const server = new SMTPServer({
      ...tls,
      key: pair.key,
      cert: pair.certificate,
      onAuth: ({ username, password }, _session, callback) => {
        const known = username === USER.user && password === USER.password;
        callback(known ? null : new Error('wrong credentials'), known ? { user: username } : undefined);
      },
      onData: (stream, { user, secure, envelope }, callback) => {
        void text(stream).then((content) => {
          const to = envelope.rcptTo.map(({ address }) => address);
          deliveries.push({ user, secure, to, from: /^From: (.*)\r$/m.exec(content)?.[1] });
          callback(null);
          delivered();
        });
      },
    });
    const listening = server.listen(0, '127.0.0.1');
    if (!listening.listening) await once(listening, 'listening');
    const { port } = listening.address() as AddressInfo;
    const SMTP_URL = `${scheme}://${credentials}@127.0.0.1:${port}/${query}`;
    const mailer = createMailer(loadConfig({ SMTP_URL, MAIL_FROM }), systemClock) as SmtpMailer;
    await mailer.send(MAIL);
    await delivery;
    await mailer.onApplicationShutdown();
    distrust();
    await new Promise<void>((resolve) => server.close(() => resolve()));
    const from = 'The Gateway <gateway@example.com>';
    expect(deliveries).toEqual([{ user: USER.user, secure: true, to: [MAIL.to], from }]);
  });
});
