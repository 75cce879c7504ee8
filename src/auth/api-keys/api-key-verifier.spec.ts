import { generateApiKey } from './api-key';
import type { StoredApiKey } from './api-key.repository';
import { ApiKeyVerifier } from './api-key-verifier';

const NOW_MS = Date.UTC(2030, 0, 1);

const stored = (overrides: Partial<StoredApiKey> = {}): StoredApiKey => ({
  principal: {
    organizationId: 'organization-1',
    keyId: 'key-1',
    allowedModels: null,
    allowedModalities: null,
    limits: { requestsPerSecond: null, requestsPerMinute: null, tokensPerMinute: null, concurrency: null },
    organizationLimits: { requestsPerSecond: null, requestsPerMinute: null, tokensPerMinute: null, concurrency: null },
  },
  enabled: true,
  revokedAtMs: null,
  expiresAtMs: null,
  organizationActive: true,
  dependsOnSession: false,
  allowedIps: null,
  ...overrides,
});

/** A verifier over one key, with a clock that only `pass` moves. */
function setup(record: StoredApiKey | null = stored(), acceptUnchecksummedKeys = false) {
  let elapsedMs = 0;
  const key = generateApiKey();
  const state = { record };
  const read = jest.fn((asked: string) => Promise.resolve(asked === key ? state.record : null));
  const clock = { now: () => NOW_MS + elapsedMs, monotonic: () => elapsedMs };
  const verifier = new ApiKeyVerifier({ findByKey: read }, clock, { acceptUnchecksummedKeys });
  return {
    key,
    state,
    read,
    verifier,
    pass: (durationMs: number) => void (elapsedMs += durationMs),
    verify: (header: string | undefined = `Bearer ${key}`) =>
      Promise.resolve().then(() => verifier.authenticate(header)),
    /** The synchronous result on a cache hit. */
    verifyNow: () => verifier.authenticate(`Bearer ${key}`),
  };
}

const rejectsWith = (code: string) => expect.objectContaining({ code });

describe('ApiKeyVerifier', () => {
  describe('the header', () => {
    it.each([
      undefined,
      '',
      'Bearer',
      'Bearer ',
      'Basic dXNlcjpwYXNz',
      `Token ${generateApiKey()}`,
      generateApiKey(),
      `Bearer ${generateApiKey()} ${generateApiKey()}`,
      `Bearer ${generateApiKey().slice(0, -1)}`,
      `Bearer ${generateApiKey()}x`,
      `Bearer ${'x'.repeat(16_000)}`,
    ])('refuses %j with 401 and no look-up', (header) => {
      const { verifier, read } = setup();
      expect(() => verifier.authenticate(header)).toThrow(rejectsWith('invalid_api_key'));
      expect(read).not.toHaveBeenCalled();
    });

    it.each(['Bearer', 'bearer', 'BEARER', 'bEaReR'])('accepts the scheme %s', async (scheme) => {
      const { verify, key } = setup();
      await expect(verify(`${scheme}  ${key}`)).resolves.toMatchObject({ principal: { keyId: 'key-1' } });
    });

    it('looks up keys of another format only with acceptUnchecksummedKeys', async () => {
      const { verifier, read } = setup(null, true);
      await expect(verifier.authenticate('Bearer sk-llm-test')).rejects.toThrow(rejectsWith('invalid_api_key'));
      expect(read).toHaveBeenCalledWith('sk-llm-test');
      expect(() => verifier.authenticate(`Bearer ${'x'.repeat(257)}`)).toThrow(rejectsWith('invalid_api_key'));
    });

    it('never puts the key into a message', async () => {
      const { verify, key } = setup(null);
      const error: unknown = await verify().catch((reason: unknown) => reason);
      expect(JSON.stringify([error, String(error)])).not.toContain(key.slice(7));
    });
  });

  describe('the verdict', () => {
    const past = NOW_MS - 1;
    it.each<[string, Partial<StoredApiKey>]>([
      ['key_revoked', { revokedAtMs: past, enabled: false, expiresAtMs: past, organizationActive: false }],
      ['key_disabled', { enabled: false, expiresAtMs: past, organizationActive: false }],
      ['key_expired', { expiresAtMs: past, organizationActive: false }],
    ])('is %s for %j', async (code, overrides) => {
      await expect(setup(stored(overrides)).verify()).rejects.toThrow(rejectsWith(code));
    });

    it('expires a cached key at the exact millisecond', async () => {
      const { verify, verifyNow, pass } = setup(stored({ expiresAtMs: NOW_MS + 1_000 }));
      await verify();
      pass(999);
      expect(verifyNow()).toMatchObject({ principal: { keyId: 'key-1' } });
      pass(1);
      expect(verifyNow).toThrow(rejectsWith('key_expired'));
    });

    it('ends the grace period of a rotated key at the exact millisecond', async () => {
      const { verify, verifyNow, pass } = setup(stored({ revokedAtMs: NOW_MS + 1_000 }));
      await verify();
      pass(999);
      expect(verifyNow()).toMatchObject({ principal: { keyId: 'key-1' } });
      pass(1);
      expect(verifyNow).toThrow(rejectsWith('key_revoked'));
    });
  });

  describe('the cache', () => {
    it('answers without a promise and with the same principal after the first request', async () => {
      const { verify, verifyNow, read } = setup();
      const first = await verify();
      expect(verifyNow()).toBe(first);
      expect(read).toHaveBeenCalledTimes(1);
    });

    it('reads once for any number of requests that arrive together', async () => {
      const { verify, read } = setup();
      await Promise.all(Array.from({ length: 50 }, () => verify()));
      expect(read).toHaveBeenCalledTimes(1);
    });

    it('refreshes an entry in the background before it expires, without blocking requests', async () => {
      const { verify, verifyNow, read, state, pass } = setup();
      await verify();
      pass(4_000);
      state.record = stored({ enabled: false });
      expect(verifyNow()).toMatchObject({ principal: { keyId: 'key-1' } });
      expect(verifyNow()).toMatchObject({ principal: { keyId: 'key-1' } });
      await new Promise(setImmediate);
      expect(read).toHaveBeenCalledTimes(2);
      expect(verifyNow).toThrow(rejectsWith('key_disabled'));
    });

    it('expires entries within five seconds, counted from before the read', async () => {
      const { verify, state, pass, verifier, key } = setup();
      const loading = verify();
      await Promise.resolve();
      pass(3_000);
      await loading;
      state.record = stored({ enabled: false });
      pass(2_000);
      await expect(verifier.authenticate(`Bearer ${key}`)).rejects.toThrow(rejectsWith('key_disabled'));
    });

    it.each([
      { scope: 'key', keyId: 'key-1' } as const,
      { scope: 'organization', organizationId: 'organization-1' } as const,
      { scope: 'all' } as const,
    ])('evicts the key on %j', async (invalidation) => {
      const { verify, state, verifier } = setup();
      await verify();
      state.record = stored({ revokedAtMs: NOW_MS });
      verifier.invalidate(invalidation);
      await expect(verify()).rejects.toThrow(rejectsWith('key_revoked'));
    });

    it('keeps other keys on an invalidation', async () => {
      const { verify, verifyNow, verifier, read } = setup();
      await verify();
      verifier.invalidate({ scope: 'key', keyId: 'key-2' });
      verifier.invalidate({ scope: 'organization', organizationId: 'organization-2' });
      verifyNow();
      expect(read).toHaveBeenCalledTimes(1);
    });

    it('does not cache a read that started before the invalidation', async () => {
      const { verify, state, verifier, read } = setup();
      const early = verify();
      await Promise.resolve();
      state.record = stored({ enabled: false });
      verifier.invalidate({ scope: 'key', keyId: 'key-1' });
      await early;
      await expect(verify()).rejects.toThrow(rejectsWith('key_disabled'));
      expect(read).toHaveBeenCalledTimes(2);
    });

    it('caches unknown keys for one second', async () => {
      const { verify, verifyNow, state, read, pass } = setup(null);
      await expect(verify()).rejects.toThrow(rejectsWith('invalid_api_key'));
      expect(verifyNow).toThrow(rejectsWith('invalid_api_key'));
      expect(read).toHaveBeenCalledTimes(1);
      state.record = stored();
      pass(1_000);
      await expect(verify()).resolves.toMatchObject({ principal: { keyId: 'key-1' } });
    });

    it('keeps known keys cached during a flood of unknown keys', async () => {
      const { verify, verifyNow, verifier, read } = setup();
      await verify();
      for (let round = 0; round < 12_000; round++) {
        await Promise.resolve(verifier.authenticate(`Bearer ${generateApiKey()}`)).catch(() => undefined);
      }
      read.mockClear();
      verifyNow();
      expect(read).not.toHaveBeenCalled();
    });
  });

  describe('without the database', () => {
    it('returns a retryable 503 and queries again on the next request', async () => {
      const { verify, read } = setup();
      read.mockRejectedValueOnce(new Error('ECONNREFUSED'));
      await expect(verify()).rejects.toThrow(rejectsWith('service_unavailable'));
      await expect(verify()).resolves.toMatchObject({ principal: { keyId: 'key-1' } });
    });

    it('serves cached keys until they expire after five seconds', async () => {
      const { verify, verifyNow, read, pass } = setup();
      await verify();
      read.mockRejectedValue(new Error('ECONNREFUSED'));
      pass(4_999);
      expect(verifyNow()).toMatchObject({ principal: { keyId: 'key-1' } });
      await new Promise(setImmediate);
      pass(1);
      await expect(verify()).rejects.toThrow(rejectsWith('service_unavailable'));
    });

    it('serves cached keys while too many keys are being read', async () => {
      jest.useFakeTimers();
      try {
        const { verifier, read, pass } = setup();
        read.mockResolvedValue(stored());
        const keys = Array.from({ length: 513 }, generateApiKey);
        for (const key of keys) await verifier.authenticate(`Bearer ${key}`);
        read.mockReturnValue(new Promise(() => undefined));
        pass(4_000);
        for (const key of keys) expect(verifier.authenticate(`Bearer ${key}`)).toEqual(stored());
      } finally {
        jest.useRealTimers();
      }
    });

    it('returns 503 within 2.5 s when the database hangs', async () => {
      jest.useFakeTimers();
      try {
        const { verifier, key, read } = setup();
        read.mockReturnValue(new Promise(() => undefined));
        const answer = Promise.resolve(verifier.authenticate(`Bearer ${key}`)).catch((error: unknown) => error);
        // Synchronous: during an event loop iteration, other specs of this worker may set timers that would count.
        jest.advanceTimersByTime(2_499);
        await expect(answer).resolves.toMatchObject({ code: 'service_unavailable', status: 503 });
        expect(jest.getTimerCount()).toBe(0);
      } finally {
        jest.useRealTimers();
      }
    });

    it('bounds the number of pending reads', () => {
      jest.useFakeTimers();
      try {
        const { verifier, read } = setup();
        read.mockReturnValue(new Promise(() => undefined));
        const attempt = () => verifier.authenticate(`Bearer ${generateApiKey()}`);
        for (let waiting = 0; waiting < 256; waiting++) expect(attempt()).toBeInstanceOf(Promise);
        expect(attempt).toThrow(rejectsWith('service_unavailable'));
        expect(read).toHaveBeenCalledTimes(256);
      } finally {
        jest.useRealTimers();
      }
    });
  });
});

describe('invented keys', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('do not block the refresh of a known key', async () => {
    const known = generateApiKey();
    let nowMs = 1_000_000;
    const record = stored();
    const never = new Promise<null>(() => undefined);
    const verifier = new ApiKeyVerifier(
      { findByKey: (key) => (key === known ? Promise.resolve(record) : never) },
      { now: () => nowMs, monotonic: () => nowMs },
      { acceptUnchecksummedKeys: false },
    );
    await verifier.authenticate(`Bearer ${known}`);
    for (let count = 0; count < 256; count++) {
      Promise.resolve(verifier.authenticate(`Bearer ${generateApiKey()}`)).catch(() => undefined);
    }
    nowMs += 5_001;
    await expect(Promise.resolve().then(() => verifier.authenticate(`Bearer ${known}`))).resolves.toBe(record);
  });
});
