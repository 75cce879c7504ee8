import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Pool } from 'pg';
import { SMTPServer } from 'smtp-server';
import type { DataSource } from 'typeorm';
import { systemClock } from '../../../src/core/time/clock';
import { loadConfig } from '../../../src/core/config/load-config';
import { createMailer } from '../../../src/core/mail/mail.module';
import { type Mail, Mailer } from '../../../src/core/mail/mailer';
import type { SmtpMailer } from '../../../src/core/mail/smtp-mailer';
import { LowBalanceRepository, LowBalanceService } from '../../../src/billing/payments/low-balance.service';
import { openDataSource } from '../../harness/data-source';
import { createTestDatabase, createTestPool, type TestDatabase } from '../../harness/database';

class KeptMails extends Mailer {
  readonly destination = { kind: 'none' } as const;
  readonly mails: Mail[] = [];
  isUnavailable = false;
  /** Runs while a mail is being sent. */
  meanwhile: (mail: Mail) => Promise<unknown> = () => Promise.resolve();

  override async send(mail: Mail): Promise<void> {
    if (this.isUnavailable) throw new Error('The mail server is unavailable');
    await this.meanwhile(mail);
    this.mails.push(mail);
  }
}

let database: TestDatabase;
let pool: Pool;
let dataSource: DataSource;
let mailer: KeptMails;
let service: LowBalanceService;
let organizationId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = createTestPool(database.url, 2);
  dataSource = await openDataSource(database.url, 4);
});
beforeEach(async () => {
  mailer = new KeptMails();
  service = new LowBalanceService(new LowBalanceRepository(dataSource), mailer);
  await pool.query('DELETE FROM billing_settings');
  await openOrganization('Acme');
});
afterAll(async () => {
  await dataSource.destroy();
  await pool.end();
  await database.drop();
});

async function openOrganization(name: string): Promise<void> {
  organizationId = randomUUID();
  await pool.query('INSERT INTO organization (id, name) VALUES ($1, $2)', [organizationId, name]);
  await pool.query('INSERT INTO organization_account (organization_id) VALUES ($1)', [organizationId]);
  await pool.query('INSERT INTO billing_settings (organization_id, low_balance_threshold_micro) VALUES ($1, 5000000)', [
    organizationId,
  ]);
  for (const role of ['owner', 'admin', 'developer', 'viewer']) await addMember(role);
  await post('topup', 6_000_000);
}

async function addMember(role: string, verified = true, status = 'active'): Promise<void> {
  const [id, email] = [randomUUID(), `${role}-${randomUUID()}@example.com`];
  await pool.query(
    `INSERT INTO user_account (id, email, email_key, name, password_hash, status, email_verified_at)
     VALUES ($1, $2, $2, 'Alice', 'none', $3, $4)`,
    [id, email, status, verified ? new Date() : null],
  );
  await pool.query('INSERT INTO organization_member (organization_id, user_id, role) VALUES ($1, $2, $3)', [
    organizationId,
    id,
    role,
  ]);
}

function post(kind: string, deltaMicro: number): Promise<unknown> {
  return pool.query('SELECT money_post($1, $2, $3, $4)', [organizationId, kind, deltaMicro, randomUUID()]);
}

function hold(amountMicro: number): Promise<unknown> {
  return pool.query('UPDATE organization_account SET reserved_micro = $2 WHERE organization_id = $1', [
    organizationId,
    amountMicro,
  ]);
}

describe('the notice of a low balance', () => {
  it('is sent to owners and admins with a verified email when the balance is below the threshold', async () => {
    await addMember('owner', false);
    await addMember('admin', true, 'disabled');
    expect(await service.sendNotices()).toBe(0);
    await hold(1_000_001);
    expect(await service.sendNotices()).toBe(1);
    expect(mailer.mails.map(({ to }) => to.split('-')[0]).toSorted()).toEqual(['admin', 'owner']);
    expect(mailer.mails[0]).toMatchObject({
      subject: 'Low balance of "Acme"',
      text: expect.stringContaining('4.99 USD is available to "Acme", which is below your threshold of\n5.00 USD.'),
    });
  });

  it('is sent once while the balance fluctuates because of ending holds', async () => {
    for (const held of [2_000_000, 0, 2_000_000, 0, 2_000_000]) {
      await hold(held);
      await service.sendNotices();
    }
    expect(mailer.mails).toHaveLength(2);
  });

  it('is sent again when the balance falls after a credit lifted it above the threshold', async () => {
    await post('adjust', -2_000_000);
    await service.sendNotices();
    await post('topup', 500_000);
    expect(await service.sendNotices()).toBe(0);
    await post('topup', 2_000_000);
    expect(await service.sendNotices()).toBe(0);
    await post('adjust', -3_000_000);
    expect(await service.sendNotices()).toBe(1);
  });

  it('is sent again even if the credit arrived while the previous notice was being sent', async () => {
    await post('adjust', -2_000_000);
    mailer.meanwhile = () => post('topup', 1_500_000);
    expect(await service.sendNotices()).toBe(1);
    mailer.meanwhile = () => Promise.resolve();
    expect(await service.sendNotices()).toBe(0);
    await post('adjust', -4_000_000);
    expect(await service.sendNotices()).toBe(1);
  });

  it('is sent again even if a credit was being booked during the previous one', async () => {
    await post('adjust', -2_000_000);
    const credit = await pool.connect();
    await credit.query('BEGIN');
    await credit.query('SELECT money_post($1, $2, $3, $4)', [organizationId, 'topup', 1_500_000, randomUUID()]);
    await service.sendNotices();
    await credit.query('COMMIT');
    credit.release();
    expect(await service.sendNotices()).toBe(0);
    await post('adjust', -4_000_000);
    expect(await service.sendNotices()).toBe(1);
  });

  it('is sent once by ten concurrent processes', async () => {
    await post('adjust', -2_000_000);
    const counts = await Promise.all(Array.from({ length: 10 }, () => service.sendNotices()));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(1);
    expect(mailer.mails).toHaveLength(2);
  });

  it('is sent once even if a process takes minutes for earlier notices', async () => {
    await post('adjust', -2_000_000);
    await openOrganization('Beta');
    await post('adjust', -2_000_000);
    const others = new KeptMails();
    mailer.meanwhile = async ({ subject }) => {
      mailer.meanwhile = () => Promise.resolve();
      await pool.query(
        `UPDATE billing_settings s SET low_balance_claimed_at = low_balance_claimed_at - interval '5 minutes'
           FROM organization o WHERE o.id = s.organization_id AND o.name = $1`,
        [subject.endsWith('"Acme"') ? 'Beta' : 'Acme'],
      );
      await new LowBalanceService(new LowBalanceRepository(dataSource), others).sendNotices();
    };
    await service.sendNotices();
    const addresses = [...mailer.mails, ...others.mails].map(({ to }) => to);
    expect([addresses.length, new Set(addresses).size]).toEqual([4, 4]);
  });

  it('is retried after five minutes when no notice could be sent', async () => {
    await post('adjust', -2_000_000);
    mailer.isUnavailable = true;
    expect(await service.sendNotices()).toBe(0);
    mailer.isUnavailable = false;
    expect(await service.sendNotices()).toBe(0);
    await pool.query(
      `UPDATE billing_settings SET low_balance_claimed_at = low_balance_claimed_at - interval '5 minutes'`,
    );
    expect(await service.sendNotices()).toBe(1);
  });

  it('is retried after a mail server outage, and by the mailer for a single recipient', async () => {
    const refusals = [451, 451, 451];
    const recipients: string[] = [];
    let received = (): void => undefined;
    const bothTold = new Promise<void>((resolve) => (received = resolve));
    const server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      onMailFrom: (_address, _session, callback) => {
        const responseCode = refusals.shift();
        callback(responseCode === undefined ? null : Object.assign(new Error('not now'), { responseCode }));
      },
      onData: (stream, { envelope }, callback) => {
        stream.resume().on('end', () => {
          recipients.push(...envelope.rcptTo.map(({ address }) => address));
          callback(null);
          if (recipients.length === 2) received();
        });
      },
    });
    const listening = server.listen(0, '127.0.0.1');
    if (!listening.listening) await once(listening, 'listening');
    const SMTP_URL = `smtp://127.0.0.1:${(listening.address() as AddressInfo).port}`;
    const config = loadConfig({ SMTP_URL, MAIL_FROM: 'gateway@example.com' });
    const smtpMailer = createMailer(config, systemClock) as SmtpMailer;
    service = new LowBalanceService(new LowBalanceRepository(dataSource), smtpMailer);

    await post('adjust', -2_000_000);
    expect(await service.sendNotices()).toBe(0);
    await pool.query(
      `UPDATE billing_settings SET low_balance_claimed_at = low_balance_claimed_at - interval '5 minutes'`,
    );
    // The server accepts one of two mails; the mailer retries the other.
    expect(await service.sendNotices()).toBe(1);
    await bothTold;
    expect(new Set(recipients.map((address) => address.split('-')[0]))).toEqual(new Set(['admin', 'owner']));
    await smtpMailer.onApplicationShutdown();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });

  it('is not sent without a threshold', async () => {
    await pool.query('UPDATE billing_settings SET low_balance_threshold_micro = NULL');
    await post('adjust', -6_000_000);
    expect(await service.sendNotices()).toBe(0);
  });
});
