import { readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { musicSpec, videoSpec } from '../../../../test/conformance/job-requests';
import { providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import { MEDIA_PROVIDERS, MockMediaStage, readMockMediaLog } from '../../../../test/harness/mock-media';
import type { JobHandle } from '../../contract/media-job';
import type { ProviderCall } from '../../contract/provider-call';

const AT_ONCE = 'queued=0 run=0';
const call = providerCall();

let stage: MockMediaStage;
beforeEach(async () => {
  stage = await MockMediaStage.create();
});
afterEach(() => stage.remove());

describe('mock media providers', () => {
  it.each([
    ['mock-media', { video: true, music: true }],
    ['mock-media-basic', { video: true, music: false }],
    ['mock-media-sync', { video: false, music: true }],
  ])('claim their capabilities: %s', (id, expected) => {
    expect(stage.provider(id).capabilities).toMatchObject({ chat: false, images: false, ...expected });
  });

  it.each([{}, { MOCK_MEDIA_PROVIDER: 'false', MOCK_MEDIA_DIR: '/tmp' }, { MOCK_MEDIA_DIR: '/tmp' }])(
    'are not offered unless enabled: %j',
    (environment) => {
      expect(MEDIA_PROVIDERS.map((each) => each.create(environment))).toEqual([null, null, null]);
    },
  );
});

describe('MockJobs', () => {
  it('moves from queued to running to succeeded over time, in every process', async () => {
    const handle = await stage.submit('queued=2s run=10s');
    expect(await stage.jobs.poll(handle, call)).toEqual({ state: 'queued', progress: 0 });
    stage.advance(2_000);
    expect(await stage.jobs.poll(handle, call)).toEqual({ state: 'running', progress: 0 });
    stage.advance(9_999);
    expect(await stage.jobs.poll(handle, call)).toEqual({ state: 'running', progress: 99 });
    stage.advance(1);
    const output = { type: 'audio', url: 'mock-media:token-1' };
    expect(await stage.jobs.poll(handle, call)).toEqual({ state: 'succeeded', outputs: [output], usage: null });
  });

  it('completes a job after two and a half seconds by default', async () => {
    const handle = await stage.submit('');
    stage.advance(2_499);
    expect(await stage.state(handle)).toBe('running');
    stage.advance(1);
    expect(await stage.state(handle)).toBe('succeeded');
  });

  it('creates one job for one token, even when many processes submit it concurrently', async () => {
    const handles = await Promise.all(Array.from({ length: 20 }, () => stage.submit('run=1s')));
    stage.advance(500);
    handles.push(await stage.submit('run=9s'));
    expect(new Set(handles.map(({ id }) => id))).toEqual(new Set(['token-1']));
    expect((await stage.eventNames()).toSorted()).toEqual([...Array<string>(20).fill('repeated'), 'submitted']);
    stage.advance(1_000);
    expect(await stage.state(handles[0] as JobHandle)).toBe('succeeded');
  });

  it('creates another job for the same token where the provider ignores tokens', async () => {
    const spec = videoSpec({ prompt: 'x' });
    const [one, two] = await Promise.all([
      stage.basicJobs.submit(spec, 'token-1', call),
      stage.basicJobs.submit(spec, 'token-1', call),
    ]);
    expect(one.id).not.toBe(two.id);
    expect((await readMockMediaLog(stage.directory)).map(({ event, token }) => [event, token])).toEqual([
      ['submitted', 'token-1'],
      ['submitted', 'token-1'],
    ]);
  });

  it('keeps prompts out of the log, and files unreadable for other users', async () => {
    await stage.submit(AT_ONCE);
    expect(await readFile(join(stage.directory, 'log.jsonl'), 'utf8')).not.toContain('shanty');
    const modes = (await readdir(stage.directory)).map(
      async (name) => (await stat(join(stage.directory, name))).mode & 0o777,
    );
    expect(new Set(await Promise.all(modes))).toEqual(new Set([0o600]));
  });

  it.each(['../../etc/passwd', '..', 'a/b', ''])(
    'keeps its files inside the directory for any token: %j',
    async (token) => {
      const handle = await stage.submit(AT_ONCE, token);
      expect((await readdir(stage.directory)).length).toBe(2);
      expect((await buffer(await stage.openFirst(handle))).length).toBeGreaterThan(0);
    },
  );

  it('reports no progress without the capability', async () => {
    const handle = await stage.basicJobs.submit(videoSpec({ prompt: '[[mock: queued=0 run=10s]]' }), 'token-1', call);
    expect(await stage.basicJobs.poll(handle, call)).toEqual({ state: 'running', progress: null });
  });

  it.each([
    ['content', 'failed', 'validation_failed'],
    ['error', 'failed', 'provider_error'],
    ['timeout', 'expired', 'provider_timeout'],
  ])('ends with the scripted fail=%s', async (fail, state, code) => {
    const handle = await stage.submit(`${AT_ONCE} fail=${fail}`);
    const error = expect.objectContaining({ code, options: expect.objectContaining({ phase: 'job' }) });
    expect(await stage.jobs.poll(handle, call)).toEqual({ state, error });
  });

  it('removes a job after a day', async () => {
    const handle = await stage.submit(AT_ONCE);
    const file = join(stage.directory, 'token-1.job');
    const startedAt = stage.clock.now() / 1_000;
    await utimes(file, startedAt, startedAt);
    stage.advance(25 * 3_600_000);
    await stage.submit(AT_ONCE, 'token-2');
    expect((await providerErrorOf(stage.jobs.poll(handle, call))).options.upstream?.status).toBe(404);
  });

  it('refuses unsupported options', async () => {
    const unsupported = [musicSpec({ format: 'opus' }), musicSpec({ format: 'mp3', sampleRate: 96_000 })];
    const refusals = unsupported.map((spec) => providerErrorOf(stage.jobs.submit(spec, 'token-1', call)));
    refusals.push(providerErrorOf(stage.submit('unheard_of')));
    const facts = (await Promise.all(refusals)).map(({ code, options }) => [code, options.param, options.upstream]);
    expect(facts).toEqual([
      ['validation_failed', 'format', { status: 400 }],
      ['validation_failed', 'sample_rate', { status: 400 }],
      ['validation_failed', 'prompt', { status: 400 }],
    ]);
    expect(await stage.eventNames()).toEqual([]);
  });
});

/** Short where the time has to pass, unlimited where it must not. */
const deadlinesOf = (directive: string) => ({
  ...call.deadlines,
  firstTokenMs: directive.includes('hang') ? 500 : 600_000,
});

describe('a scripted submission', () => {
  it.each([
    ['unreachable', 'provider_unavailable', 'connect'],
    ['status=503', 'provider_unavailable', 'first_token'],
    ['status=429 retry_after=7', 'provider_rate_limited', 'first_token'],
    ['reset_after=0', 'provider_unavailable', 'headers'],
    ['garbage', 'provider_error', 'first_token'],
    ['hang', 'provider_timeout', 'headers'],
    ['unheard_of', 'validation_failed', 'headers'],
  ])('does not accept the job with %s', async (directive, code, phase) => {
    const deadlines = deadlinesOf(directive);
    const error = await providerErrorOf(stage.submit(directive, 'token-1', { deadlines }));
    expect([error.code, error.options.phase]).toEqual([code, phase]);
    expect(await stage.eventNames()).toEqual([]);
  });

  it.each([
    ['accept reset_after=0', 'provider_unavailable'],
    ['accept hang', 'provider_timeout'],
    ['accept status=503', 'provider_unavailable'],
  ])(
    'loses the response of an accepted job with %s, and returns the same job for its token',
    async (directive, code) => {
      const deadlines = deadlinesOf(directive);
      expect((await providerErrorOf(stage.submit(directive, 'token-1', { deadlines }))).code).toBe(code);
      expect(await stage.submit('', 'token-1')).toMatchObject({ id: 'token-1' });
      expect(await stage.eventNames()).toEqual(['submitted', 'repeated']);
    },
  );

  it('logs one submission when the response is delayed after acceptance', async () => {
    await stage.submit('accept first_token=5ms');
    expect(await stage.eventNames()).toEqual(['submitted']);
  });
});

describe('a cancellation', () => {
  const cancel = (handle: JobHandle) => {
    const jobs = stage.jobs;
    return jobs.cancel?.(handle, call);
  };

  it('cancels an unfinished job, once', async () => {
    const handle = await stage.submit('');
    expect(new Set(await Promise.all([cancel(handle), cancel(handle), cancel(handle)]))).toEqual(new Set(['canceled']));
    expect(await cancel(handle)).toBe('canceled');
    stage.advance(10_000);
    expect(await stage.jobs.poll(handle, call)).toMatchObject({ state: 'canceled', error: { code: 'provider_error' } });
    expect(await stage.eventNames()).toEqual(['submitted', 'canceled']);
  });

  it('returns too-late for a finished job', async () => {
    const handle = await stage.submit(AT_ONCE);
    expect(await cancel(handle)).toBe('too-late');
    expect(await stage.state(handle)).toBe('succeeded');
  });

  it.each([
    ['cancel=too_late', 'too-late'],
    ['cancel=requested', 'requested'],
  ])('does not end the job with %s', async (directive, answer) => {
    const handle = await stage.submit(directive);
    expect(await cancel(handle)).toBe(answer);
    stage.advance(10_000);
    expect(await stage.state(handle)).toBe('succeeded');
  });
});

describe('an output', () => {
  it('is the same file each time, different for another prompt', async () => {
    const fileOf = async (handle: JobHandle) => (await buffer(await stage.openFirst(handle))).toString('base64');
    const one = await stage.submit(AT_ONCE);
    expect(await fileOf(one)).toBe(await fileOf(one));
    expect(await fileOf(await stage.submit(`${AT_ONCE}]] slow [[mock:`, 'token-2'))).not.toBe(await fileOf(one));
  });

  it.each(['mock-media:other', 'https://example.com/', null])('is not found under %s', async (url) => {
    await stage.submit(AT_ONCE);
    const opening = stage.jobs.openOutput({ type: 'audio', url }, call);
    expect((await providerErrorOf(opening)).options.upstream?.status).toBe(404);
  });

  it('is not found before the job has finished', async () => {
    await stage.submit('');
    const opening = stage.jobs.openOutput({ type: 'audio', url: 'mock-media:token-1' }, call);
    expect((await providerErrorOf(opening)).options.upstream?.status).toBe(404);
  });
});

describe('synchronous music', () => {
  const make = (directive: string, overrides: Partial<ProviderCall> = {}) =>
    stage.syncMusic.make(musicSpec({ prompt: `[[mock: ${directive}]]` }), providerCall(overrides));

  it('returns the file, and logs the request', async () => {
    const { outputs } = await make('run=0', { requestId: 'job-1' });
    expect(outputs).toEqual([{ type: 'audio', url: null, bytes: expect.any(Buffer) }]);
    expect(await readMockMediaLog(stage.directory)).toMatchObject([{ event: 'submitted', token: 'job-1' }]);
  });

  it.each([
    ['run=0 fail=error', 'provider_error'],
    ['run=0 fail=timeout', 'provider_timeout'],
    ['run=0 fail=content', 'validation_failed'],
    ['run=0 reset_after=0', 'provider_unavailable'],
    ['run=1s', 'provider_timeout'],
  ])('fails with %s', async (directive, code) => {
    const deadlines = { ...call.deadlines, firstTokenMs: directive === 'run=1s' ? 50 : 600_000 };
    expect((await providerErrorOf(make(directive, { deadlines }))).code).toBe(code);
  });
});

describe('an unusable directory', () => {
  it('counts as an unreachable provider', async () => {
    await rm(stage.directory, { recursive: true });
    await writeFile(stage.directory, 'a file');
    const error = await providerErrorOf(stage.submit(''));
    expect([error.code, error.options.phase]).toEqual(['provider_unavailable', 'headers']);
  });
});
