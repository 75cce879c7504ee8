import { randomUUID } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { digestApiKey, generateApiKey } from '../../../src/auth/api-keys/api-key';
import { ApiKeyRepository } from '../../../src/auth/api-keys/api-key.repository';
import { ApiKeyVerifier } from '../../../src/auth/api-keys/api-key-verifier';
import { AllowedIpGuard } from '../../../src/auth/guards/key.guards';
import { systemClock } from '../../../src/core/time/clock';
import { createDataSource } from '../../../src/core/database/data-source';
import { allowedMs } from '../../faults/figures';
import { openDataSource } from '../../harness/data-source';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { INJECTION_STRINGS } from './injection-strings';

const PEPPER = 'pepper of this test';

describe('API keys in PostgreSQL', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  let repository: ApiKeyRepository;

  beforeAll(async () => {
    database = await createTestDatabase();
    dataSource = await openDataSource(database.url, 4);
    repository = new ApiKeyRepository(dataSource, PEPPER);
  });

  afterAll(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  const newVerifier = (acceptUnchecksummedKeys = false): ApiKeyVerifier =>
    new ApiKeyVerifier(repository, systemClock, { acceptUnchecksummedKeys });

  /** Inserts an organization with one key, whose columns are given as SQL. */
  async function insertKey(columns: Record<string, string> = {}, status = 'active') {
    const key = generateApiKey();
    const organizationId = randomUUID();
    const keyId = randomUUID();
    await dataSource.query('INSERT INTO organization (id, name, status) VALUES ($1, $2, $3)', [
      organizationId,
      'test',
      status,
    ]);
    const names = Object.keys(columns);
    await dataSource.query(
      `INSERT INTO api_key (${['id, organization_id, name, digest, prefix, last4', ...names].join(', ')})
       VALUES (${[`$1, $2, 'test', $3, 'sk-llm-0000', '0000'`, ...Object.values(columns)].join(', ')})`,
      [keyId, organizationId, digestApiKey(key, PEPPER)],
    );
    return { key, keyId, organizationId };
  }

  /** The principal of a request from 203.0.113.7. */
  const verify = async (key: string) => {
    const stored = await newVerifier().authenticate(`Bearer ${key}`);
    new AllowedIpGuard().judge(stored, { clientAddress: '203.0.113.7' });
    return stored.principal;
  };

  it('gives the principal with the limits and rules of the key', async () => {
    const { key, keyId, organizationId } = await insertKey({
      allowed_models: `ARRAY['mock/chat-1', 'openai/*']`,
      allowed_modalities: `ARRAY['text', 'image']`,
      requests_per_second: '5',
      tokens_per_minute: '1000',
    });
    await expect(verify(key)).resolves.toEqual({
      organizationId,
      keyId,
      allowedModels: new Set(['mock/chat-1', 'openai/*']),
      allowedModalities: new Set(['text', 'embedding', 'image']),
      limits: { requestsPerSecond: 5, requestsPerMinute: null, tokensPerMinute: 1000, concurrency: null },
      organizationLimits: {
        requestsPerSecond: null,
        requestsPerMinute: null,
        tokensPerMinute: null,
        concurrency: null,
      },
    });
  });

  it.each<[string, Record<string, string>]>([
    ['key_revoked', { revoked_at: 'now()' }],
    ['key_revoked', { revoked_at: `'-infinity'` }],
    ['key_disabled', { enabled: 'false' }],
    ['key_expired', { expires_at: `now() - interval '1 second'` }],
    ['ip_not_allowed', { allowed_ips: `'{10.0.0.0/8,2001:db8::/32}'` }],
  ])('answers %s for %j', async (code, columns) => {
    const { key } = await insertKey(columns);
    await expect(verify(key)).rejects.toMatchObject({ code });
  });

  it('answers ip_not_allowed for a suspended organization', async () => {
    const { key } = await insertKey({}, 'suspended');
    await expect(verify(key)).rejects.toMatchObject({ code: 'ip_not_allowed', status: 403 });
  });

  it.each<Record<string, string>>([
    { expires_at: `'infinity'` },
    { expires_at: `now() + interval '1 minute'` },
    { revoked_at: `now() + interval '1 minute'` },
    { allowed_ips: `'{10.0.0.0/8,203.0.113.7}'` },
  ])('accepts a key with %j', async (columns) => {
    const { key, keyId } = await insertKey(columns);
    await expect(verify(key)).resolves.toMatchObject({ keyId });
  });

  it('does not find a key under another pepper', async () => {
    const { key } = await insertKey();
    await expect(new ApiKeyRepository(dataSource, 'other').findByKey(key)).resolves.toBeNull();
  });

  it('answers 401 to 200 injection strings, whether or not they may reach the database', async () => {
    expect(new Set(INJECTION_STRINGS).size).toBeGreaterThanOrEqual(200);
    const strict = newVerifier();
    const lenient = newVerifier(true);
    for (const text of INJECTION_STRINGS) {
      for (const header of [text, `Bearer ${text}`, `Bearer ${text.replaceAll(/\s/g, '')}`]) {
        expect(() => strict.authenticate(header)).toThrow(
          expect.objectContaining({ code: 'invalid_api_key', status: 401 }),
        );
        const answer = Promise.resolve().then(() => lenient.authenticate(header));
        await expect(answer).rejects.toMatchObject({ code: 'invalid_api_key', status: 401 });
      }
    }
    await expect(dataSource.query('SELECT count(*)::int AS n FROM api_key')).resolves.not.toEqual([{ n: 0 }]);
  });

  it('finds a key by its unique index', async () => {
    const plan = await dataSource.transaction(async (manager) => {
      // On a table this small PostgreSQL would rightly read it all.
      await manager.query('SET LOCAL enable_seqscan = off');
      return manager.query<object[]>(`EXPLAIN SELECT id FROM api_key WHERE digest = '\\x00'`);
    });
    expect(JSON.stringify(plan)).toContain('api_key_digest_index');
  });

  it('answers 503 within 2.5 s during a database outage, and recovers with it', async () => {
    const { key, keyId } = await insertKey();
    const gone = createDataSource({ url: database.url, poolSize: 1 });
    await gone.initialize();
    const verifier = new ApiKeyVerifier(new ApiKeyRepository(gone, PEPPER), systemClock, {
      acceptUnchecksummedKeys: false,
    });
    const ask = () => Promise.resolve().then(() => verifier.authenticate(`Bearer ${key}`));

    // The only connection of the pool waits for a lock: PostgreSQL is there and does not answer.
    const locker = dataSource.createQueryRunner();
    await locker.startTransaction();
    await locker.query('LOCK TABLE api_key IN ACCESS EXCLUSIVE MODE');
    const startedAtMs = performance.now();
    await expect(ask()).rejects.toMatchObject({ code: 'service_unavailable', status: 503 });
    expect(performance.now() - startedAtMs).toBeLessThan(allowedMs(2_500));
    await locker.rollbackTransaction();
    await locker.release();

    await expect(ask()).resolves.toMatchObject({ principal: { keyId } });
    await gone.destroy();
  });
});
