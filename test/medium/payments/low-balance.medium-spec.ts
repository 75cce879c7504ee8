import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import type { DataSource } from 'typeorm';
import { type Mail, Mailer } from '../../../src/mail/mailer';
import { LowBalanceRepository } from '../../../src/payments/low-balance.repository';
import { LowBalanceService } from '../../../src/payments/low-balance.service';
import { openDataSource } from '../../harness/data-source';
import { createTestDatabase, createTestPool, type TestDatabase } from '../../harness/database';

class KeptMails extends Mailer {
  readonly mails: Mail[] = [];
  isAway = false;
  /** What happens while a mail is handed over. */
  meanwhile: (mail: Mail) => Promise<unknown> = () => Promise.resolve();

  override async send(mail: Mail): Promise<void> {
    if (this.isAway) throw new Error('The mail server is away');
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
     VALUES ($1, $2, $2, 'Somebody', 'none', $3, $4)`,
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
  it('goes to owners and admins with a verified address, when less than the threshold is available', async () => {
    await addMember('owner', false);
    await addMember('admin', true, 'disabled');
    expect(await service.tell()).toBe(0);
    await hold(1_000_001);
    expect(await service.tell()).toBe(1);
    expect(mailer.mails.map(({ to }) => to.split('-')[0]).toSorted()).toEqual(['admin', 'owner']);
    expect(mailer.mails[0]).toMatchObject({
      subject: 'Low balance of Acme',
      text: expect.stringContaining('4.99 USD is available to Acme, less than the 5.00 USD'),
    });
  });

  it('is sent once, however often the balance rises by holds that end and falls again', async () => {
    for (const held of [2_000_000, 0, 2_000_000, 0, 2_000_000]) {
      await hold(held);
      await service.tell();
    }
    expect(mailer.mails).toHaveLength(2);
  });

  it('is sent again when credit has lifted the balance above the threshold and it has fallen once more', async () => {
    await post('adjust', -2_000_000);
    await service.tell();
    await post('topup', 500_000);
    expect(await service.tell()).toBe(0);
    await post('topup', 2_000_000);
    expect(await service.tell()).toBe(0);
    await post('adjust', -3_000_000);
    expect(await service.tell()).toBe(1);
  });

  it('is sent again also when the credit came while the notice before was on its way', async () => {
    await post('adjust', -2_000_000);
    mailer.meanwhile = () => post('topup', 1_500_000);
    expect(await service.tell()).toBe(1);
    mailer.meanwhile = () => Promise.resolve();
    expect(await service.tell()).toBe(0);
    await post('adjust', -4_000_000);
    expect(await service.tell()).toBe(1);
  });

  it('is sent once by ten processes that look at the same time', async () => {
    await post('adjust', -2_000_000);
    const told = await Promise.all(Array.from({ length: 10 }, () => service.tell()));
    expect(told.reduce((sum, count) => sum + count, 0)).toBe(1);
    expect(mailer.mails).toHaveLength(2);
  });

  it('is sent once also where a process takes minutes for those before', async () => {
    await post('adjust', -2_000_000);
    await openOrganization('Beta');
    await post('adjust', -2_000_000);
    const others = new KeptMails();
    mailer.meanwhile = async ({ subject }) => {
      mailer.meanwhile = () => Promise.resolve();
      await pool.query(
        `UPDATE billing_settings s SET low_balance_claimed_at = low_balance_claimed_at - interval '5 minutes'
           FROM organization o WHERE o.id = s.organization_id AND o.name = $1`,
        [subject.endsWith('Acme') ? 'Beta' : 'Acme'],
      );
      await new LowBalanceService(new LowBalanceRepository(dataSource), others).tell();
    };
    await service.tell();
    const addresses = [...mailer.mails, ...others.mails].map(({ to }) => to);
    expect([addresses.length, new Set(addresses).size]).toEqual([4, 4]);
  });

  it('is tried again after five minutes when nobody could be told', async () => {
    await post('adjust', -2_000_000);
    mailer.isAway = true;
    expect(await service.tell()).toBe(0);
    mailer.isAway = false;
    expect(await service.tell()).toBe(0);
    await pool.query(
      `UPDATE billing_settings SET low_balance_claimed_at = low_balance_claimed_at - interval '5 minutes'`,
    );
    expect(await service.tell()).toBe(1);
  });

  it('is not sent to those who have set no threshold', async () => {
    await pool.query('UPDATE billing_settings SET low_balance_threshold_micro = NULL');
    await post('adjust', -6_000_000);
    expect(await service.tell()).toBe(0);
  });
});
