import { Logger } from '@nestjs/common';
import { chatRequest, providerCall, providerErrorOf } from '../../test/conformance/provider-call';
import type { AsyncJobAdapter, JobHandle, JobSpec, SignedReport } from './contract/media-job';
import type { Provider } from './contract/provider';
import { ProviderError, type ProviderErrorOptions } from './contract/provider-error';
import { KeyCoolDowns } from './key-cool-downs';
import { KeyPool, type PooledKey } from './key-pool';

const limited = (options: Partial<ProviderErrorOptions> = {}): ProviderError =>
  new ProviderError('provider_rate_limited', 'limited', { phase: 'headers', fallback: true, ...options });
const refused = (status: number, options: Partial<ProviderErrorOptions> = {}): ProviderError =>
  new ProviderError('provider_error', 'refused', {
    phase: 'headers',
    fallback: true,
    credentialRefused: true,
    upstream: { status },
    ...options,
  });

/** A pool whose keys fail as scripted; `calls` are the ids of the keys used. */
function stage(weights: readonly number[]) {
  const calls: string[] = [];
  const failures = new Map<string, ProviderError>();
  const use = (id: string): void => {
    calls.push(id);
    const failure = failures.get(id);
    if (failure !== undefined) throw failure;
  };
  const toKey = (weight: number, at: number): PooledKey => {
    const id = `key-${at}`;
    const chat = {
      complete: async () => {
        use(id);
        return { body: { id }, usage: null, outputBytes: 0 };
      },
      openStream: async () => use(id),
    };
    const responses = { ...chat, respond: async () => use(id), openItemStream: async () => use(id) };
    const video = {
      mode: 'async',
      capabilities: { cancel: 'always', idempotentSubmit: true },
      submit: async () => {
        use(id);
        return { v: 1, provider: 'module', upstreamModel: 'm', id: 'job' };
      },
      poll: async () => {
        use(id);
        return { state: 'succeeded', outputs: [], usage: null };
      },
      cancel: async () => use(id),
      openOutput: async () => use(id),
      verifyReport: async ({ headers }: SignedReport) => {
        use(id);
        return headers['signed-with'] === id;
      },
    };
    const provider = { capabilities: {}, quirks: {}, chat, responses, video } as unknown as Provider;
    return { id, accountId: `${id} at its address`, weight, provider };
  };
  let nowMs = 1_000;
  const keys = weights.map(toKey) as [PooledKey, ...PooledKey[]];
  const coolDowns = new KeyCoolDowns({ now: () => nowMs, monotonic: () => nowMs });
  const pool = new KeyPool('pool', keys, coolDowns);
  return { pool, calls, failures, coolDowns, pass: (ms: number) => (nowMs += ms) };
}

const complete = async (pool: KeyPool): Promise<unknown> => pool.chat?.complete(chatRequest(), providerCall());

const verify = async (pool: KeyPool, keyId: string, signedWith: string): Promise<boolean | undefined> => {
  const { deadlines, signal } = providerCall();
  const call = { deadlines, signal, keyId, fetchPublic: () => Promise.reject(new Error('not needed')) };
  return pool.video?.verifyReport?.({ headers: { 'signed-with': signedWith }, body: Buffer.alloc(0) }, call);
};

describe('KeyPool', () => {
  let log: jest.SpyInstance[];
  beforeEach(() => {
    log = (['warn', 'error'] as const).map((level) => jest.spyOn(Logger.prototype, level).mockImplementation());
  });
  afterEach(() => jest.restoreAllMocks());

  it('spreads calls over the keys by weight', async () => {
    const { pool, calls } = stage([3, 1]);
    let draw = 0;
    jest.spyOn(Math, 'random').mockImplementation(() => (draw++ % 100) / 100);
    for (let call = 0; call < 100; call++) await complete(pool);
    expect(calls.filter((id) => id === 'key-0')).toHaveLength(75);
  });

  it.each([
    ['limits', limited({ retryAfterSeconds: 20 }), 20_000],
    ['refuses', refused(401), 300_000],
    ['refuses for lack of credit', refused(403, { outOfCredit: true }), 300_000],
  ])('cools down a key that the upstream %s, and goes on with another key', async (_what, failure, pauseMs) => {
    const { pool, calls, failures, pass } = stage([1, 1]);
    jest.spyOn(Math, 'random').mockReturnValue(0);
    failures.set('key-0', failure);
    await complete(pool);
    expect(calls).toEqual(['key-0', 'key-1']);
    failures.clear();
    pass(pauseMs - 1);
    await pool.chat?.openStream(chatRequest(), providerCall());
    pass(1);
    await complete(pool);
    expect(calls.slice(2)).toEqual(['key-1', 'key-0']);
    expect(log.flatMap(({ mock }) => mock.calls)).toEqual([
      [expect.objectContaining({ provider: 'pool', key: 'key-0' })],
    ]);
  });

  it('fails with the refusal of the last key, and then without a call until a key is ready', async () => {
    const { pool, calls, failures } = stage([1, 1]);
    jest.spyOn(Math, 'random').mockReturnValue(0);
    failures.set('key-0', limited({ retryAfterSeconds: 7 }));
    failures.set('key-1', limited({ retryAfterSeconds: 30 }));
    expect(await providerErrorOf(complete(pool))).toBe(failures.get('key-1'));
    const error = await providerErrorOf(complete(pool));
    expect(error).toMatchObject({ code: 'provider_rate_limited', options: { phase: 'connect', retryAfterSeconds: 7 } });
    expect(calls).toHaveLength(2);
  });

  it('tries at most three keys with one request, so that none can cool all keys down', async () => {
    const { pool, calls, failures } = stage([1, 1, 1, 1]);
    for (const at of [0, 1, 2, 3]) failures.set(`key-${at}`, limited());
    await providerErrorOf(complete(pool));
    expect(calls).toHaveLength(3);
  });

  it('announces a cool-down once, however many calls in flight fail for it', async () => {
    const { pool, failures, coolDowns, pass } = stage([1]);
    const announced: [string, number][] = [];
    coolDowns.onChange((id, forMs) => announced.push([id, forMs]));
    failures.set('key-0', limited({ retryAfterSeconds: 20 }));
    await Promise.allSettled([complete(pool), complete(pool), complete(pool)]);
    expect(announced).toEqual([['key-0 at its address', 20_000]]);
    pass(20_000);
    await Promise.allSettled([complete(pool)]);
    expect(announced).toHaveLength(2);
  });

  it('prepares its keys when its settings change, and logs the change once', async () => {
    const { pool, calls, failures, coolDowns } = stage([1, 1]);
    jest.spyOn(Math, 'random').mockReturnValue(0);
    failures.set('key-0', refused(401));
    await complete(pool);
    failures.clear();
    const announced: [string, number][] = [];
    coolDowns.onChange((id, forMs) => announced.push([id, forMs]));
    pool.endCoolDowns();
    await complete(pool);
    expect(calls).toEqual(['key-0', 'key-1', 'key-0']);
    expect(announced).toEqual([['key-0 at its address', 0]]);
  });

  it('does not cool a key down for a 403 or a failure, and makes no second call after one', async () => {
    const { pool, calls, failures } = stage([1, 1]);
    jest.spyOn(Math, 'random').mockReturnValue(0);
    const away = new ProviderError('provider_unavailable', 'unavailable', { phase: 'headers', fallback: true });
    for (const failure of [refused(403), away]) {
      failures.set('key-0', failure);
      expect(await providerErrorOf(complete(pool))).toBe(failure);
    }
    expect(calls).toEqual(['key-0', 'key-0']);
  });

  it('spreads calls of the Responses API too', async () => {
    const { pool, calls, failures } = stage([1, 1]);
    jest.spyOn(Math, 'random').mockReturnValue(0);
    failures.set('key-0', limited());
    await pool.responses?.complete(chatRequest(), providerCall());
    await pool.responses?.respond(chatRequest(), [], providerCall());
    await pool.responses?.openItemStream(chatRequest(), [], providerCall());
    expect(calls).toEqual(['key-0', 'key-1', 'key-1', 'key-1']);
  });

  it.each([
    [[1], { idempotentSubmit: true, submissionAccount: 'key-0 at its address' }],
    [[1, 1], { idempotentSubmit: false }],
  ])('deduplicates submissions of jobs only as one account: with the weights %j %j', (weights, expected) => {
    expect(stage(weights).pool.video?.capabilities).toEqual({ cancel: 'always', ...expected });
  });

  it('keeps a job with the key that submitted it', async () => {
    const { pool, calls, failures } = stage([1, 1, 1]);
    jest.spyOn(Math, 'random').mockReturnValue(0);
    failures.set('key-0', limited());
    const video = pool.video as AsyncJobAdapter;
    const stored = JSON.stringify(await video.submit({} as JobSpec, 'token', providerCall()));
    const handle = JSON.parse(stored) as JobHandle;
    expect(handle).toMatchObject({ provider: 'pool', keyId: 'key-1', id: 'job' });
    await video.poll(handle, providerCall());
    await video.cancel?.(handle, providerCall());
    await video.openOutput?.({ type: 'video', url: null }, providerCall({ keyId: handle.keyId }));
    expect(calls).toEqual(['key-0', 'key-1', 'key-1', 'key-1', 'key-1']);
  });

  it('verifies a report with the key that submitted its job', async () => {
    const { pool, calls } = stage([1, 1, 1]);
    expect(await verify(pool, 'key-2', 'key-2')).toBe(true);
    expect(await verify(pool, 'key-2', 'key-0')).toBe(false);
    expect(calls).toEqual(['key-2', 'key-2']);
  });

  describe('a job whose key was removed', () => {
    const handle: JobHandle = { v: 1, provider: 'pool', upstreamModel: 'm', id: 'job', keyId: 'removed' };
    const answer = (status: number): ProviderError =>
      new ProviderError('provider_error', 'unknown', { phase: 'job', fallback: false, upstream: { status } });

    it('is polled with the other keys until one knows the job, which only keys of its account do', async () => {
      const { pool, calls, failures } = stage([1, 1, 1]);
      failures.set('key-0', answer(404));
      failures.set('key-1', refused(403));
      const video = pool.video as AsyncJobAdapter;
      const snapshot = await video.poll(handle, providerCall());
      await video.cancel?.(handle, providerCall());
      expect(calls).toEqual([0, 1, 2, 0, 1, 2].map((at) => `key-${at}`));
      // Its result has to be fetched with the same key.
      expect(snapshot).toMatchObject({ keyId: 'key-2' });
    });

    it('is not lost when no key knows it, since its own may come back', async () => {
      const { pool, failures } = stage([1, 1]);
      failures.set('key-0', answer(404));
      failures.set('key-1', answer(410));
      const error = await providerErrorOf((pool.video as AsyncJobAdapter).poll(handle, providerCall()));
      expect(error).toMatchObject({ code: 'provider_unavailable', options: { phase: 'job' } });
      expect(error.options.upstream).toBeUndefined();
      expect(log.flatMap(({ mock }) => mock.calls)).toEqual([
        [expect.objectContaining({ event: 'provider_job_key_removed', provider: 'pool', key: 'removed' })],
      ]);
    });

    it('has reports that any key verifies, since that key may belong to the same account', async () => {
      const { pool, failures } = stage([1, 1, 1]);
      failures.set('key-0', refused(401));
      expect(await verify(pool, 'removed', 'key-1')).toBe(true);
    });

    it('has reports that are refused when no key verifies them', async () => {
      expect(await verify(stage([1, 1]).pool, 'removed', 'another')).toBe(false);
    });

    it('has reports that cannot be refused while one key could not verify them', async () => {
      const { pool, failures } = stage([1, 1]);
      failures.set('key-0', answer(500));
      await expect(verify(pool, 'removed', 'another')).rejects.toBe(failures.get('key-0'));
    });

    it('returns every other error of the first key unchanged', async () => {
      const { pool, calls, failures } = stage([1, 1]);
      failures.set('key-0', answer(500));
      const error = await providerErrorOf((pool.video as AsyncJobAdapter).poll(handle, providerCall()));
      expect(error).toBe(failures.get('key-0'));
      expect(calls).toEqual(['key-0']);
    });
  });

  it('returns the 404 of the key that submitted the job, without trying other keys', async () => {
    const { pool, calls, failures } = stage([1, 1]);
    failures.set('key-1', refused(404));
    const handle: JobHandle = { v: 1, provider: 'pool', upstreamModel: 'm', id: 'job', keyId: 'key-1' };
    const error = await providerErrorOf((pool.video as AsyncJobAdapter).poll(handle, providerCall()));
    expect(error).toBe(failures.get('key-1'));
    expect(calls).toEqual(['key-1']);
  });
});
