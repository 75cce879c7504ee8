import { Redis } from 'ioredis';
import { generateApiKey } from '../../../src/auth/api-keys/api-key';
import type { StoredApiKey } from '../../../src/auth/api-keys/api-key.repository';
import { ApiKeyVerifier } from '../../../src/auth/api-keys/api-key-verifier';
import { KeyInvalidationListener } from '../../../src/auth/api-keys/key-invalidation.listener';
import { publishKeyInvalidation } from '../../../src/auth/api-keys/key-invalidation';
import { systemClock } from '../../../src/core/time/clock';
import { createRedis } from '../../../src/core/redis/redis-client';
import { allowedMs } from '../../faults/figures';
import { createTestRedis } from '../../harness/redis';

const key = generateApiKey();

const stored = (enabled: boolean): StoredApiKey => ({
  principal: {
    organizationId: 'organization-1',
    keyId: 'key-1',
    allowedModels: null,
    allowedModalities: null,
    limits: { requestsPerSecond: null, requestsPerMinute: null, tokensPerMinute: null, concurrency: null },
    organizationLimits: { requestsPerSecond: null, requestsPerMinute: null, tokensPerMinute: null, concurrency: null },
  },
  enabled,
  revokedAtMs: null,
  expiresAtMs: null,
  organizationActive: true,
  dependsOnSession: false,
  allowedIps: null,
});

/** What a process has for authentication, and the next thing its listener tells it. */
function startProcess(url: string, read: () => StoredApiKey) {
  const redis = createRedis(url);
  const duplicate = jest.spyOn(redis, 'duplicate');
  const verifier = new ApiKeyVerifier({ findByKey: () => Promise.resolve(read()) }, systemClock, {
    acceptUnchecksummedKeys: false,
  });
  const invalidate = jest.spyOn(verifier, 'invalidate');
  const listener = new KeyInvalidationListener(redis, verifier);
  listener.onModuleInit();
  const subscriber = duplicate.mock.results[0]?.value as Redis | undefined;
  return {
    redis,
    verify: async () => (await verifier.authenticate(`Bearer ${key}`)).principal,
    nextInvalidation: () =>
      new Promise<void>((resolve) => {
        const original = ApiKeyVerifier.prototype.invalidate;
        invalidate.mockImplementationOnce((invalidation) => {
          original.call(verifier, invalidation);
          resolve();
        });
      }),
    /** Breaks the listener's own connection, not those of others: the server may be shared. */
    breakConnection: () => subscriber?.stream.destroy(),
    stop: () => {
      listener.onModuleDestroy();
      redis.disconnect();
    },
  };
}

describe('key invalidation over Redis', () => {
  const { url } = createTestRedis();
  let admin: Redis;

  beforeAll(() => {
    admin = new Redis(url);
  });

  afterAll(() => {
    admin.disconnect();
  });

  it('makes every process refuse a disabled key within a second', async () => {
    let enabled = true;
    const processes = [startProcess(url, () => stored(enabled)), startProcess(url, () => stored(enabled))];
    // Each drops everything once it listens.
    await Promise.all(processes.map(({ nextInvalidation }) => nextInvalidation()));
    await Promise.all(processes.map(({ verify }) => verify()));

    enabled = false;
    const startedAtMs = performance.now();
    const invalidated = processes.map(({ nextInvalidation }) => nextInvalidation());
    await publishKeyInvalidation(admin, { scope: 'key', keyId: 'key-1' });
    await Promise.all(invalidated);
    for (const { verify } of processes) {
      await expect(verify()).rejects.toMatchObject({ code: 'key_disabled' });
    }
    expect(performance.now() - startedAtMs).toBeLessThan(allowedMs(1_000));
    for (const { stop } of processes) stop();
  });

  it('drops all cached keys after a reconnect, since messages may have been missed', async () => {
    let enabled = true;
    const gateway = startProcess(url, () => stored(enabled));
    await gateway.nextInvalidation();
    await gateway.verify();

    enabled = false;
    const back = gateway.nextInvalidation();
    gateway.breakConnection();
    await back;
    await expect(gateway.verify()).rejects.toMatchObject({ code: 'key_disabled' });
    gateway.stop();
  });

  it('lets a process start and verify without Redis', async () => {
    const gateway = startProcess('redis://127.0.0.1:1', () => stored(true));
    await expect(gateway.verify()).resolves.toMatchObject({ keyId: 'key-1' });
    gateway.stop();
  });
});
