import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { systemClock } from '../time/clock';
import { GatewayError } from '../errors/gateway-error';
import { loadConfig } from '../config/load-config';
import { dashboardLink } from './dashboard-link';
import { FileMailer } from './file-mailer';
import { createMailer } from './mail.module';
import { SmtpMailer } from './smtp-mailer';
import { UnconfiguredMailer } from './unconfigured-mailer';

const PRODUCTION = {
  NODE_ENV: 'production',
  DATABASE_URL: 'postgres://db/gateway',
  REDIS_URL: 'redis://cache',
  API_KEY_PEPPER: 'p'.repeat(32),
  SECRETS_KEY: 'ab'.repeat(32),
};
const SMTP = { SMTP_URL: 'smtp://mail.example', MAIL_FROM: 'gateway@example.com' };
const MAIL = { to: 'ada@example.com', subject: 'A subject', text: 'A text\n' };

describe('the choice of the mailer', () => {
  const mailerOf = (environment: Record<string, string>) => createMailer(loadConfig(environment), systemClock);

  it('uses the SMTP server, else a folder, and none in production', () => {
    expect(mailerOf(SMTP)).toBeInstanceOf(SmtpMailer);
    expect(mailerOf({ ...PRODUCTION, ...SMTP })).toBeInstanceOf(SmtpMailer);
    expect(mailerOf({})).toBeInstanceOf(FileMailer);
    expect(mailerOf(PRODUCTION)).toBeInstanceOf(UnconfiguredMailer);
  });

  it('throws not_configured before any change when there is none', async () => {
    const mailer = mailerOf(PRODUCTION);
    expect(() => mailer.assertConfigured()).toThrow(GatewayError);
    await expect(mailer.send(MAIL)).rejects.toMatchObject({ code: 'not_configured' });
    expect(() => mailerOf({}).assertConfigured()).not.toThrow();
  });
});

describe('a mail without a server', () => {
  let directory: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'gateway-mails-'));
    jest.spyOn(Logger.prototype, 'log').mockReturnValue(undefined);
    jest.spyOn(Logger.prototype, 'error').mockReturnValue(undefined);
  });
  afterEach(() => {
    jest.restoreAllMocks();
    rmSync(directory, { recursive: true, force: true });
  });

  it('is written to the log and to a private file', async () => {
    const folder = join(directory, 'mail');
    await new FileMailer(folder, systemClock).send(MAIL);
    const [name = ''] = readdirSync(folder);
    const content = 'To: ada@example.com\nSubject: A subject\n\nA text\n';
    expect(readFileSync(join(folder, name), 'utf8')).toBe(content);
    expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    expect(Logger.prototype.log).toHaveBeenCalledWith(expect.stringContaining(content));
  });

  it('does not fail the request when it cannot be written', async () => {
    await new FileMailer('/dev/null/mail', systemClock).send(MAIL);
    expect(Logger.prototype.error).toHaveBeenCalledTimes(1);
  });
});

describe('a link into the dashboard', () => {
  it.each([
    [{ DASHBOARD_URL: 'https://console.example.com/' }, 'https://console.example.com'],
    [{ PUBLIC_BASE_URL: 'https://api.example.com' }, 'https://api.example.com/dashboard'],
    [{}, 'http://127.0.0.1:8080/dashboard'],
    [{ HOST: '0.0.0.0', PORT: '9000' }, 'http://127.0.0.1:9000/dashboard'],
    [{ HOST: '::1' }, 'http://[::1]:8080/dashboard'],
  ])('with %j begins with %s, and has the token in the fragment', (environment, base) => {
    expect(dashboardLink(loadConfig(environment), 'verify-email', 'abc')).toBe(`${base}/verify-email#token=abc`);
  });
});
