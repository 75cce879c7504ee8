import { randomUUID } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { hasValidShape } from '../../../src/auth/api-keys/api-key';
import { ApiKeyRepository } from '../../../src/auth/api-keys/api-key.repository';
import { ApiKeyVerifier } from '../../../src/auth/api-keys/api-key-verifier';
import { AllowedIpGuard } from '../../../src/auth/guards/key.guards';
import { decodeKeyInvalidation, type KeyInvalidationTransport } from '../../../src/auth/api-keys/key-invalidation';
import { COMMAND_LINE } from '../../../src/core/types/actor';
import { systemClock } from '../../../src/core/time/clock';
import { GatewayError } from '../../../src/core/errors/gateway-error';
import { toApiKeyRecord } from '../../../src/auth/api-keys/api-key-record';
import { DEFAULT_MAX_API_KEYS } from '../../../src/core/database/entities/organization.entity';
import { ApiKeyService } from '../../../src/auth/api-keys/api-key.service';
import { OrganizationService } from '../../../src/dashboard/organizations/organization.service';
import { openDataSource } from '../../harness/data-source';
import { createTestDatabase, type TestDatabase } from '../../harness/database';

const PEPPER = 'pepper of this test';
/** In each, callers that lock the same row wait for each other. */
const REPLICAS = [1, 2, 3, 4, 5, 6, 7, 8];
const SETTINGS = {
  name: 'production',
  expiresAt: new Date(Date.UTC(2100, 0, 1)),
  allowedIps: ['10.1.2.3/8', '2001:db8::/32'],
  allowedModels: ['mock/chat-1', 'openai/*'],
  allowedModalities: ['text'],
  requestsPerSecond: 1,
  requestsPerMinute: 2,
  tokensPerMinute: 3,
  concurrency: 4,
  dailyBudgetMicro: 5n,
  monthlyBudgetMicro: 9_007_199_254_740_991n,
};

describe('organizations and their keys', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  let organizations: OrganizationService;
  let keys: ApiKeyService;
  let verifier: ApiKeyVerifier;
  let transport: KeyInvalidationTransport;
  const published: string[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
    dataSource = await openDataSource(database.url, 8);
    verifier = new ApiKeyVerifier(new ApiKeyRepository(dataSource, PEPPER), systemClock, {
      acceptUnchecksummedKeys: false,
    });
    transport = {
      publish: (_channel: string, message: string) => {
        published.push(message);
        verifier.invalidate(decodeKeyInvalidation(message));
        return Promise.resolve();
      },
    };
    organizations = new OrganizationService(dataSource, transport, systemClock);
    keys = new ApiKeyService(dataSource, transport, systemClock, PEPPER);
  });

  afterAll(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  const verify = async (key: string) => {
    const stored = await verifier.authenticate(`Bearer ${key}`);
    new AllowedIpGuard().judge(stored, { clientAddress: '10.0.0.1' });
    return stored.principal;
  };
  const newOrganization = () => organizations.create({ name: 'Acme' }, COMMAND_LINE);

  describe('organizations', () => {
    it('come with an empty account and the limit asked for', async () => {
      const { id, status } = await organizations.create({ name: '  Acme ', monthlyLimitMicro: 7n }, COMMAND_LINE);
      expect(status).toBe('active');
      await expect(
        dataSource.query('SELECT * FROM organization_account WHERE organization_id = $1', [id]),
      ).resolves.toMatchObject([{ balance_micro: '0', reserved_micro: '0', monthly_limit_micro: '7' }]);
    });

    it.each(['', '   ', 'x'.repeat(201), 'a\u0000b', 'a\nb', '\ud800'])(
      'are not created with the name %j',
      async (name) => {
        await expect(organizations.create({ name }, COMMAND_LINE)).rejects.toMatchObject({
          code: 'validation_failed',
          param: 'name',
        });
      },
    );

    it('are at most ten of one owner, however many replicas create them at once', async () => {
      const ownerUserId = randomUUID();
      await dataSource.query(
        `INSERT INTO user_account (id, email, email_key, name, password_hash) VALUES ($1, 'a@b.c', 'a@b.c', 'A', 'none')`,
        [ownerUserId],
      );
      const replicas = REPLICAS.map(() => new OrganizationService(dataSource, transport, systemClock));
      const attempts = await Promise.allSettled(
        Array.from({ length: 15 }, (_, index) =>
          patiently(() => replicas[index % REPLICAS.length]?.createOwned('Acme', ownerUserId, COMMAND_LINE)),
        ),
      );
      const refused = attempts.filter((attempt) => attempt.status === 'rejected');
      expect(refused.map(({ reason }) => reason.code)).toEqual(Array.from({ length: 5 }, () => 'conflict'));
    });

    it('change their monthly limit, and lose it', async () => {
      const { id } = await newOrganization();
      const limit = () =>
        dataSource.query('SELECT monthly_limit_micro FROM organization_account WHERE organization_id = $1', [id]);
      await organizations.setMonthlyLimit(id, 123n, COMMAND_LINE);
      await expect(limit()).resolves.toEqual([{ monthly_limit_micro: '123' }]);
      await organizations.setMonthlyLimit(id, null, COMMAND_LINE);
      await expect(limit()).resolves.toEqual([{ monthly_limit_micro: null }]);
      await expect(organizations.setMonthlyLimit(id, -1n, COMMAND_LINE)).rejects.toMatchObject({
        code: 'validation_failed',
      });
      await expect(organizations.setMonthlyLimit(randomUUID(), 1n, COMMAND_LINE)).rejects.toMatchObject({
        code: 'not_found',
      });
    });

    it('are refused while suspended, from the next request on', async () => {
      const { id } = await newOrganization();
      const { key } = await keys.create(id, {}, COMMAND_LINE);
      await verify(key);
      await organizations.suspend(id, null, COMMAND_LINE);
      await expect(verify(key)).rejects.toMatchObject({ code: 'ip_not_allowed' });
      await organizations.activate(id, null, COMMAND_LINE);
      await expect(verify(key)).resolves.toMatchObject({ organizationId: id });
      expect(published).toContain(`organization:${id}`);
    });

    it('are not found under an unknown id', async () => {
      const unknown = randomUUID();
      for (const attempt of [
        () => organizations.suspend(unknown, null, COMMAND_LINE),
        () => keys.create(unknown, {}, COMMAND_LINE),
        () => keys.list(unknown),
      ]) {
        await expect(attempt()).rejects.toMatchObject({ code: 'not_found' });
      }
    });
  });

  describe('keys', () => {
    it('are stored with normalized settings and without their secret', async () => {
      const { id } = await newOrganization();
      const { key, apiKey } = await keys.create(id, SETTINGS, COMMAND_LINE);
      expect(hasValidShape(key)).toBe(true);
      expect(apiKey).toMatchObject({
        ...SETTINGS,
        allowedIps: ['10.0.0.0/8', '2001:db8::/32'],
        enabled: true,
        revokedAt: null,
        prefix: key.slice(0, 11),
        last4: key.slice(-4),
      });
      expect(apiKey.digest).toBeUndefined();
      const row: unknown = await dataSource.query('SELECT * FROM api_key WHERE id = $1', [apiKey.id]);
      expect(JSON.stringify(row)).not.toContain(key.slice(11, 39));
    });

    it('work at once', async () => {
      const { id } = await newOrganization();
      const { key, apiKey } = await keys.create(id, SETTINGS, COMMAND_LINE);
      await expect(verify(key)).resolves.toMatchObject({ keyId: apiKey.id, organizationId: id });
    });

    it('are refused while disabled and after revocation, from the next request on', async () => {
      const { key, apiKey } = await keys.create((await newOrganization()).id, {}, COMMAND_LINE);
      await verify(key);
      await keys.disable(apiKey.id, null, COMMAND_LINE);
      await expect(verify(key)).rejects.toMatchObject({ code: 'key_disabled' });
      await keys.enable(apiKey.id, null, COMMAND_LINE);
      await expect(verify(key)).resolves.toMatchObject({ keyId: apiKey.id });
      await keys.revoke(apiKey.id, null, COMMAND_LINE);
      await expect(verify(key)).rejects.toMatchObject({ code: 'key_revoked' });
    });

    it('stay revoked: the first revocation counts and nothing brings them back', async () => {
      const { apiKey } = await keys.create((await newOrganization()).id, {}, COMMAND_LINE);
      const { revokedAt } = await keys.revoke(apiKey.id, null, COMMAND_LINE);
      await expect(keys.revoke(apiKey.id, null, COMMAND_LINE)).resolves.toMatchObject({ revokedAt });
      for (const attempt of [
        () => keys.enable(apiKey.id, null, COMMAND_LINE),
        () => keys.disable(apiKey.id, null, COMMAND_LINE),
        () => keys.rotate(apiKey.id, null, 0, COMMAND_LINE),
      ]) {
        await expect(attempt()).rejects.toMatchObject({ code: 'conflict' });
      }
    });

    it('are replaced at once by rotation, settings kept', async () => {
      const { id } = await newOrganization();
      const old = await keys.create(id, SETTINGS, COMMAND_LINE);
      await verify(old.key);
      const { key, apiKey, replaced } = await keys.rotate(old.apiKey.id, null, 0, COMMAND_LINE);
      expect(replaced).toMatchObject({ id: old.apiKey.id, replacedBy: apiKey.id });
      expect(apiKey).toMatchObject({ ...SETTINGS, allowedIps: ['10.0.0.0/8', '2001:db8::/32'], organizationId: id });
      await expect(verify(old.key)).rejects.toMatchObject({ code: 'key_revoked' });
      await expect(verify(key)).resolves.toMatchObject({ keyId: apiKey.id });
    });

    it('are revoked for processes whose clock is late or early, too', async () => {
      for (const skewMs of [-3_600_000, 3_600_000]) {
        const clock = { ...systemClock, now: () => Date.now() + skewMs };
        const skewed = new ApiKeyService(dataSource, transport, clock, PEPPER);
        const { id } = await newOrganization();
        const [first, second] = [await keys.create(id, {}, COMMAND_LINE), await keys.create(id, {}, COMMAND_LINE)];
        const revoked = await skewed.revoke(first.apiKey.id, id, COMMAND_LINE);
        const { replaced } = await skewed.rotate(second.apiKey.id, id, 0, COMMAND_LINE);
        for (const apiKey of [revoked, replaced]) {
          expect(toApiKeyRecord(apiKey, clock.now()).status).toBe('revoked');
          await expect(skewed.enable(apiKey.id, id, COMMAND_LINE)).rejects.toMatchObject({ code: 'conflict' });
        }
        await expect(verify(first.key)).rejects.toMatchObject({ code: 'key_revoked' });
        await expect(verify(second.key)).rejects.toMatchObject({ code: 'key_revoked' });
      }
    });

    it('go on working in their grace period, which revocation ends', async () => {
      const old = await keys.create((await newOrganization()).id, {}, COMMAND_LINE);
      const { replaced } = await keys.rotate(old.apiKey.id, null, 3_600, COMMAND_LINE);
      expect(replaced.revokedAt?.getTime()).toBeGreaterThan(Date.now() + 3_500_000);
      await expect(verify(old.key)).resolves.toMatchObject({ keyId: old.apiKey.id });
      await expect(keys.rotate(old.apiKey.id, null, 0, COMMAND_LINE)).rejects.toMatchObject({ code: 'conflict' });
      await keys.revoke(old.apiKey.id, null, COMMAND_LINE);
      await expect(verify(old.key)).rejects.toMatchObject({ code: 'key_revoked' });
    });

    it.each([-1, 0.5, 31 * 24 * 3600, Number.NaN])('have no grace period of %d seconds', async (graceSeconds) => {
      await expect(keys.rotate(randomUUID(), null, graceSeconds, COMMAND_LINE)).rejects.toMatchObject({
        param: 'grace_seconds',
      });
    });

    it('stay disabled through a rotation', async () => {
      const { apiKey } = await keys.create((await newOrganization()).id, {}, COMMAND_LINE);
      await keys.disable(apiKey.id, null, COMMAND_LINE);
      await expect(keys.rotate(apiKey.id, null, 0, COMMAND_LINE)).resolves.toMatchObject({
        apiKey: { enabled: false },
      });
    });

    it('of another organization are not found', async () => {
      const { apiKey } = await keys.create((await newOrganization()).id, {}, COMMAND_LINE);
      const { id: otherOrganization } = await newOrganization();
      for (const attempt of [
        () => keys.disable(apiKey.id, otherOrganization, COMMAND_LINE),
        () => keys.enable(apiKey.id, otherOrganization, COMMAND_LINE),
        () => keys.revoke(apiKey.id, otherOrganization, COMMAND_LINE),
        () => keys.rotate(apiKey.id, otherOrganization, 0, COMMAND_LINE),
      ]) {
        await expect(attempt()).rejects.toMatchObject({ code: 'not_found' });
      }
      await expect(keys.list(apiKey.organizationId)).resolves.toMatchObject([{ id: apiKey.id, revokedAt: null }]);
      await expect(keys.list(otherOrganization)).resolves.toEqual([]);
    });

    it('never exceed the maximum, however many replicas create them at once; a revoked one makes room', async () => {
      const { id } = await newOrganization();
      const replicas = REPLICAS.map(() => new ApiKeyService(dataSource, transport, systemClock, PEPPER));
      const attempts = await Promise.allSettled(
        Array.from({ length: 120 }, (_, index) =>
          patiently(() => replicas[index % REPLICAS.length]?.create(id, {}, COMMAND_LINE)),
        ),
      );
      const refused = attempts.filter((attempt) => attempt.status === 'rejected');
      expect(refused).toHaveLength(120 - DEFAULT_MAX_API_KEYS);
      expect(refused[0]).toMatchObject({ reason: { code: 'max_api_keys_reached' } });
      const [first] = await keys.list(id);
      await keys.rotate(first?.id ?? '', null, 0, COMMAND_LINE);
      await expect(keys.create(id, {}, COMMAND_LINE)).rejects.toMatchObject({ code: 'max_api_keys_reached' });
      const [, second] = await keys.list(id);
      await keys.revoke(second?.id ?? '', null, COMMAND_LINE);
      await expect(keys.create(id, {}, COMMAND_LINE)).resolves.toMatchObject({ apiKey: { organizationId: id } });
    });
  });
});

/** Retries after the announced delay: so many at once may overload a busy machine. */
async function patiently(attempt: () => Promise<unknown> | undefined): Promise<unknown> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== 'service_unavailable') throw error;
    }
  }
}
