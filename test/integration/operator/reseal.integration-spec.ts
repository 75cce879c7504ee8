import { randomBytes, randomUUID } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { COMMAND_LINE } from '../../../src/core/types/actor';
import { resealTable } from '../../../src/core/secrets/reseal';
import { keyIdOf, SecretBox } from '../../../src/core/secrets/secret-box';
import { webhookSecretTable } from '../../../src/webhooks/webhook-secret.repository';
import { WebhookSecretRepository } from '../../../src/webhooks/webhook-secret.repository';
import { WebhookSecretService } from '../../../src/webhooks/webhook-secret.service';
import { openDataSource } from '../../harness/data-source';
import { createTestDatabase, type TestDatabase } from '../../harness/database';

const key = (): string => randomBytes(32).toString('hex');

describe('encrypting webhook secrets anew', () => {
  let database: TestDatabase;
  let dataSource: DataSource;

  beforeEach(async () => {
    database = await createTestDatabase();
    dataSource = await openDataSource(database.url, 4);
  });
  afterEach(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  const secretsOf = (box: SecretBox) => new WebhookSecretService(new WebhookSecretRepository(dataSource), box);
  const createOrganizations = async (count: number): Promise<string[]> => {
    const ids = Array.from({ length: count }, () => randomUUID());
    await dataSource.query(`INSERT INTO organization (id, name) SELECT unnest($1::uuid[]), 'test'`, [ids]);
    return ids;
  };

  it('keeps every secret unchanged over several batches, and does nothing the second time', async () => {
    const [former, next] = [key(), key()];
    const ids = await createOrganizations(230);
    const before = await Promise.all(ids.map((id) => secretsOf(new SecretBox([former])).require(id)));
    const created = await dataSource.query('SELECT created_at FROM organization_webhook_secret ORDER BY 1');
    const box = new SecretBox([next, former]);
    const table = webhookSecretTable(dataSource);
    expect(await resealTable(table, box)).toEqual({ resealed: 230, current: 0, unreadable: [] });
    expect(await resealTable(table, box)).toEqual({ resealed: 0, current: 230, unreadable: [] });
    const after = await Promise.all(ids.map((id) => secretsOf(new SecretBox([next])).require(id)));
    expect(after).toEqual(before);
    expect(await dataSource.query('SELECT created_at FROM organization_webhook_secret ORDER BY 1')).toEqual(created);
  });

  it('does not bring back a secret that was rotated meanwhile', async () => {
    const [former, next] = [key(), key()];
    const [id = ''] = await createOrganizations(1);
    await secretsOf(new SecretBox([former])).require(id);
    const table = webhookSecretTable(dataSource);
    let rotated = '';
    const late = {
      ...table,
      replace: async (...parts: Parameters<typeof table.replace>) => {
        rotated = (await secretsOf(new SecretBox([former])).rotate(id, COMMAND_LINE)).secret;
        await table.replace(...parts);
      },
    };
    const box = new SecretBox([next, former]);
    await resealTable(late, box);
    expect(await secretsOf(box).require(id)).toBe(rotated);
  });

  it('leaves alone, and names, what no key opens', async () => {
    const [id = ''] = await createOrganizations(1);
    await secretsOf(new SecretBox([key()])).require(id);
    const before = await dataSource.query<{ sealed: string }[]>('SELECT * FROM organization_webhook_secret');
    const box = new SecretBox([key()]);
    const summary = await resealTable(webhookSecretTable(dataSource), box);
    expect(summary).toEqual({ resealed: 0, current: 0, unreadable: [id] });
    expect(await dataSource.query('SELECT * FROM organization_webhook_secret')).toEqual(before);
    expect(keyIdOf(before[0]?.sealed ?? '')).toMatch(/^[0-9a-f]{16}$/);
  });
});
