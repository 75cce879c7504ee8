/**
 * What every provider must do with video and music, as far as it claims the capability. Its row in
 * `subjects.ts` has the prompts that produce each state of a job.
 */
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { ArtifactProbe } from '../../src/core/media/media-probes';
import type {
  AsyncJobAdapter,
  JobAdapter,
  JobCapabilities,
  JobHandle,
  JobOutput,
  JobSnapshot,
  JobSpec,
  SyncJobAdapter,
} from '../../src/providers/contract/media-job';
import type { Provider } from '../../src/providers/contract/provider';
import type { ProviderCall } from '../../src/providers/contract/provider-call';
import type { RequestMapping } from '../../src/providers/contract/request-mapping';
import { type Answer, FakeUpstream } from './fake-upstream';
import { musicSpec, videoSpec } from './job-requests';
import { FAULT_PROMPTS, type JobVendor, playJobs, VENDOR_PROMPTS } from './job-upstream';
import { providerCall, providerErrorOf } from './provider-call';
import { type JobPrompts, MOCK_MEDIA_DIR, SUBJECTS } from './subjects';

type Kind = 'video' | 'music';

const SECRET = 'the secret of my prompt';
/** Refuses connections. */
const NOWHERE = 'http://127.0.0.1:9';

interface JobSubject {
  readonly name: string;
  readonly kind: Kind;
  readonly mode: JobAdapter['mode'];
  readonly capabilities: JobCapabilities;
  readonly prompts: JobPrompts;
  readonly vendor: JobVendor | undefined;
  readonly musicVendor: Answer | undefined;
  /** The upstream of mapped jobs. */
  readonly play: (() => Answer) | undefined;
  /** The adapter with its upstream at this origin; the mock needs none. */
  at(origin: string): JobAdapter;
}

/** The adapter as the gateway calls it for a deployment with a mapping. */
function withMapping(adapter: AsyncJobAdapter, mapping: RequestMapping): AsyncJobAdapter {
  return {
    mode: adapter.mode,
    capabilities: adapter.capabilities,
    submit: (spec, token, call) => adapter.submit(spec, token, { ...call, mapping }),
    poll: (handle, call) => adapter.poll(handle, call),
    cancel: (handle, call) => (adapter as Required<AsyncJobAdapter>).cancel(handle, call),
  };
}

let upstream: FakeUpstream;
const opened: Provider[] = [];

const SUBJECTS_WITH_JOBS: readonly JobSubject[] = SUBJECTS.flatMap((subject) => {
  const { mappedJobs: mapped } = subject;
  const { definition, environment, jobPrompts: prompts, jobVendor: vendor, musicVendor } = subject;
  const open = (origin: string) => definition.create(environment(origin));
  const shared = open(NOWHERE);
  return (['video', 'music'] as const).flatMap((kind): JobSubject[] => {
    const adapter = shared?.[kind];
    if (adapter === undefined) return [];
    if (prompts === undefined) throw new Error(`the row of ${definition.id} has no jobPrompts`);
    const { mode, capabilities } = adapter;
    const at = (origin: string): JobAdapter => {
      const provider = vendor === undefined && musicVendor === undefined && mapped === undefined ? null : open(origin);
      if (provider === null) return adapter;
      opened.push(provider);
      const made = provider[kind] as JobAdapter;
      return mapped === undefined ? made : withMapping(made as AsyncJobAdapter, mapped.mappings[kind]);
    };
    return [
      {
        name: `${definition.id} ${kind}`,
        kind,
        mode,
        capabilities,
        prompts,
        // A provider may make videos in a queue, and music within a request.
        vendor: mode === 'async' ? vendor : undefined,
        musicVendor: mode === 'sync' ? musicVendor : undefined,
        play: mapped?.play,
        at,
      },
    ];
  });
});
const named = (subjects: readonly JobSubject[]) => subjects.map((subject) => [subject.name, subject] as const);
const ASYNC = SUBJECTS_WITH_JOBS.filter(({ mode }) => mode === 'async');
const SYNC = SUBJECTS_WITH_JOBS.filter(({ mode }) => mode === 'sync');
const PLAYED = ASYNC.filter(({ vendor }) => vendor !== undefined);

const probe = new ArtifactProbe();
let tokens = 0;
const newToken = () => `token-${process.pid}-${(tokens += 1)}`;
const specOf = (kind: Kind, prompt: string): JobSpec =>
  kind === 'video' ? videoSpec({ prompt: `${prompt} ${SECRET}` }) : musicSpec({ prompt: `${prompt} ${SECRET}` });
/** Its numbers are of one job. */
const callOf = (overrides: Partial<ProviderCall> = {}) => providerCall({ requestId: newToken(), ...overrides });
const aborted = () => callOf({ signal: AbortSignal.abort() });

beforeAll(async () => {
  upstream = await FakeUpstream.start();
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((provider) => provider.close()));
});
afterAll(async () => {
  await upstream.stop();
  await probe.onModuleDestroy();
  await rm(MOCK_MEDIA_DIR, { recursive: true, force: true });
});

/** The snapshot in which the job has ended. */
async function ended(adapter: AsyncJobAdapter, handle: JobHandle): Promise<JobSnapshot> {
  for (;;) {
    const snapshot = await adapter.poll(handle, callOf());
    if (snapshot.state !== 'queued' && snapshot.state !== 'running') return snapshot;
    expect(snapshot.progress ?? 0).toBeGreaterThanOrEqual(0);
    expect(snapshot.progress ?? 0).toBeLessThanOrEqual(100);
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

/** As the worker does: web addresses without the adapter. */
async function bytesOf(adapter: JobAdapter, output: JobOutput): Promise<Buffer> {
  if (output.bytes !== undefined) return output.bytes;
  if (output.url?.startsWith('http') === true) {
    const { hosts = [], headers = {} } = (await adapter.downloadCredential?.(callOf())) ?? {};
    const isTrusted = hosts.includes(new URL(output.url).host);
    return Buffer.from(await (await fetch(output.url, { headers: isTrusted ? headers : {} })).arrayBuffer());
  }
  if (adapter.openOutput === undefined) throw new Error('the output cannot be opened');
  return buffer(await adapter.openOutput(output, callOf()));
}

async function fileOf(adapter: JobAdapter, snapshot: JobSnapshot) {
  if (snapshot.state !== 'succeeded') throw new Error(`the job is ${snapshot.state}`);
  const [output] = snapshot.outputs;
  if (output === undefined) throw new Error('there is no output');
  const bytes = await bytesOf(adapter, output);
  const directory = await mkdtemp(join(tmpdir(), 'job-output-'));
  const path = join(directory, 'output');
  await writeFile(path, bytes);
  const file = await open(path);
  try {
    return await probe.probe({ descriptor: file.fd, sizeBytes: bytes.length });
  } finally {
    await file.close();
    await rm(directory, { recursive: true });
  }
}

const endOf = (snapshot: JobSnapshot) =>
  'error' in snapshot ? [snapshot.state, snapshot.error.code] : [snapshot.state];
/** All that a client or a log could show of an end. */
const wordsOf = (snapshot: JobSnapshot): string =>
  'error' in snapshot ? JSON.stringify([snapshot.error.message, snapshot.error.options]) : '';

const FILES = { video: { type: 'video' }, music: { type: 'audio', width: null } } as const;

describe.each(named(SUBJECTS_WITH_JOBS))('jobs of %s', (_name, { capabilities }) => {
  it('declare an output lifetime over a minute and ordered poll intervals', () => {
    const [first, max] = capabilities.pollMs;
    expect([capabilities.outputTtlSeconds > 60, first > 0, max >= first]).toEqual([true, true, true]);
  });
});

describe.each(named(ASYNC))('jobs of %s (asynchronous)', (_name, { kind, prompts, vendor, play, at }) => {
  let adapter: AsyncJobAdapter;
  const submit = (prompt: string, token = newToken(), call = callOf()) =>
    adapter.submit(specOf(kind, prompt), token, call);

  beforeEach(() => {
    if (vendor !== undefined) upstream.answer = playJobs(vendor);
    if (play !== undefined) upstream.answer = play();
    adapter = at(upstream.origin) as AsyncJobAdapter;
  });

  it('support cancellation exactly as declared', () => {
    expect(typeof adapter.cancel === 'function').toBe(adapter.capabilities.cancel !== 'never');
  });

  it('return a storable handle for a submission', async () => {
    const handle = await submit(prompts.done);
    expect(JSON.parse(JSON.stringify(handle))).toEqual(handle);
    expect(handle).toMatchObject({ v: 1, upstreamModel: 'upstream-model' });
    expect(Buffer.byteLength(JSON.stringify(handle))).toBeLessThanOrEqual(2_048);
    expect(JSON.stringify(handle)).not.toContain(SECRET);
  });

  it('end with a file of their type', async () => {
    const snapshot = await ended(adapter, await submit(prompts.done));
    expect(await fileOf(adapter, snapshot)).toMatchObject(FILES[kind]);
    expect(snapshot).toHaveProperty('usage');
  });

  it('report queued or running until they end, with progress if the provider has any', async () => {
    const snapshot = await adapter.poll(await submit(prompts.underWay), callOf());
    expect(['queued', 'running']).toContain(snapshot.state);
    const { progress = undefined } = 'progress' in snapshot ? snapshot : {};
    expect(progress === null).toBe(!adapter.capabilities.progress);
  });

  it('are the same job for the same token, if submission is idempotent', async () => {
    const token = newToken();
    const [one, two] = [await submit(prompts.underWay, token), await submit(prompts.underWay, token)];
    expect(one.id === two.id).toBe(adapter.capabilities.idempotentSubmit);
  });

  it('end with a ProviderError when they fail or expire', async () => {
    const failed = await ended(adapter, await submit(prompts.failed));
    const expired = vendor?.expires === false ? null : await ended(adapter, await submit(prompts.expired));
    expect(endOf(failed)).toEqual(['failed', 'provider_error']);
    expect(expired === null ? null : endOf(expired)).toEqual(expired === null ? null : ['expired', 'provider_timeout']);
    expect(wordsOf(failed)).not.toContain(SECRET);
  });

  it('distinguish a submission that was certainly not accepted from one that may have been', async () => {
    const elsewhere = at(NOWHERE) as AsyncJobAdapter;
    const errors = [
      elsewhere.submit(specOf(kind, prompts.unreachable), newToken(), callOf()),
      submit(prompts.answerLost),
    ];
    const phases = errors.map(async (each) => (await providerErrorOf(each)).options.phase);
    const [unreachable, lost] = await Promise.all(phases);
    expect([unreachable, lost === 'connect']).toEqual(['connect', false]);
  });

  it('report a rate limit with its Retry-After', async () => {
    const { code, options } = await providerErrorOf(submit(prompts.rateLimited));
    expect([code, options.retryAfterSeconds]).toEqual(['provider_rate_limited', 7]);
  });

  it('enforce the time limit with a silent provider', async () => {
    const deadlines = { ...callOf().deadlines, firstTokenMs: 20 };
    expect((await providerErrorOf(submit(prompts.silent, newToken(), callOf({ deadlines })))).code).toBe(
      'provider_timeout',
    );
  });

  it('report a job that is unknown to the provider', async () => {
    const made = await submit(prompts.done);
    const handle = JSON.parse(JSON.stringify(made).replaceAll(made.id, 'another')) as JobHandle;
    expect((await providerErrorOf(adapter.poll(handle, callOf()))).options.upstream?.status).toBe(404);
  });

  it('are cancelable while in progress, if supported, and not after they have ended', async () => {
    const handle = await submit(prompts.underWay);
    if (adapter.cancel === undefined) return;
    const answer = await adapter.cancel(handle, callOf());
    expect(['canceled', 'requested']).toContain(answer);
    const after = vendor?.forgetsCanceled === true ? null : await adapter.poll(handle, callOf());
    expect(after?.state === 'canceled').toBe(answer === 'canceled');
    const finished = await submit(prompts.done);
    await ended(adapter, finished);
    expect(await adapter.cancel(finished, callOf())).toBe('too-late');
  });

  it('end when the call is aborted', async () => {
    const handle = await submit(prompts.underWay);
    const calls = [submit(prompts.done, newToken(), aborted()), adapter.poll(handle, aborted())];
    if (adapter.cancel !== undefined) calls.push(adapter.cancel(handle, aborted()) as never);
    const codes = calls.map(async (each) => (await providerErrorOf(each)).code);
    expect(new Set(await Promise.all(codes))).toEqual(new Set(['provider_disconnect']));
  });
});

describe.each(named(PLAYED))('jobs of the vendor of %s', (_name, { kind, capabilities, vendor, at }) => {
  let adapter: AsyncJobAdapter;
  const submit = (prompt: string) => adapter.submit(specOf(kind, prompt), newToken(), callOf());
  const submissions = () =>
    upstream.received.filter((each) => vendor?.jobOf(each) === null && vendor.tokenOf?.(each) == null);

  beforeEach(() => {
    if (vendor !== undefined) upstream.answer = playJobs(vendor);
    upstream.received.length = 0;
    adapter = at(upstream.origin) as AsyncJobAdapter;
  });

  it('fail without the words of a moderation that refuses their result', async () => {
    const moderated = await ended(adapter, await submit(FAULT_PROMPTS.moderated));
    expect(endOf(moderated)).toEqual(['failed', 'provider_error']);
    expect(wordsOf(moderated)).toContain('content policy');
    expect(wordsOf(moderated)).not.toContain(SECRET);
  });

  it('are refused for good, without its words, when moderation refuses the prompt', async () => {
    if (vendor?.refused === undefined) return;
    const { code, message, options } = await providerErrorOf(submit(FAULT_PROMPTS.refused));
    expect([code, options.fallback, options.details]).toMatchObject([
      'validation_failed',
      false,
      { reason: 'content_filtered' },
    ]);
    expect(message).toContain('content policy');
  });

  it('are refused for good when the vendor calls the request invalid', async () => {
    const { code, options } = await providerErrorOf(submit(FAULT_PROMPTS.invalid));
    expect([code, options.fallback, options.upstream?.status]).toEqual(['validation_failed', false, 400]);
  });

  it.each([FAULT_PROMPTS.unavailable, FAULT_PROMPTS.webPage, FAULT_PROMPTS.noId])(
    'are submitted once, whatever the vendor answers: %s',
    async (prompt) => {
      const { options } = await providerErrorOf(submit(prompt));
      const { status = 0 } = options.upstream ?? {};
      expect([submissions().length, options.phase === 'connect', status >= 400 && status < 500]).toEqual([
        1,
        false,
        false,
      ]);
    },
  );

  it('fail when they have succeeded without a file', async () => {
    if (vendor?.alwaysHasFile === true) return;
    expect(endOf(await ended(adapter, await submit(FAULT_PROMPTS.noFile)))).toEqual(['failed', 'provider_error']);
  });

  it('stay in progress in a state that the vendor has not documented', async () => {
    const handle = await submit(FAULT_PROMPTS.strange);
    await adapter.poll(handle, callOf());
    expect(['queued', 'running']).toContain((await adapter.poll(handle, callOf())).state);
  });

  it('are not ended by a web page or a rate limit instead of a report', async () => {
    const [page, limited] = [await submit(FAULT_PROMPTS.pollPage), await submit(FAULT_PROMPTS.pollLimited)];
    expect((await providerErrorOf(adapter.poll(page, callOf()))).options.upstream?.status).toBe(200);
    const { code, options } = await providerErrorOf(adapter.poll(limited, callOf()));
    expect([code, options.retryAfterSeconds]).toEqual(['provider_rate_limited', 7]);
  });

  it('show no key in handles and results', async () => {
    const handle = await submit(VENDOR_PROMPTS.done);
    const shown = JSON.stringify([handle, await ended(adapter, handle)]);
    expect(shown).not.toMatch(/test-key-1234|sk-test-1234|secret-key-1234/);
  });

  it('cannot be canceled once they run, if only queued ones can', async () => {
    if (capabilities.cancel !== 'queued') return;
    const handle = await submit(VENDOR_PROMPTS.done);
    await adapter.poll(handle, callOf());
    expect(await adapter.cancel?.(handle, callOf())).toBe('too-late');
  });
});

describe.each(named(SYNC))('jobs of %s (synchronous)', (_name, { kind, prompts, musicVendor, at }) => {
  let adapter: SyncJobAdapter;
  const make = (prompt: string, call = callOf()) =>
    adapter.make({ ...specOf(kind, prompt), ...(musicVendor !== undefined && { format: 'mp3' }) } as JobSpec, call);

  beforeEach(() => {
    if (musicVendor !== undefined) upstream.answer = musicVendor;
    adapter = at(upstream.origin) as SyncJobAdapter;
  });

  it('end with a file of their type', async () => {
    expect(await fileOf(adapter, await make(prompts.done))).toMatchObject(FILES[kind]);
  });

  it('end with a ProviderError when they fail, expire or take too long', async () => {
    const deadlines = { ...callOf().deadlines, firstTokenMs: 20 };
    const errors = [make(prompts.failed), make(prompts.expired), make(prompts.underWay, callOf({ deadlines }))];
    const codes = errors.map(async (each) => (await providerErrorOf(each)).code);
    expect(await Promise.all(codes)).toEqual(['provider_error', 'provider_timeout', 'provider_timeout']);
  });

  it('report a rate limit with its Retry-After', async () => {
    const { code, options } = await providerErrorOf(make(prompts.rateLimited));
    expect([code, options.retryAfterSeconds]).toEqual(['provider_rate_limited', 7]);
  });

  it('end when the call is aborted', async () => {
    const abort = new AbortController();
    const made = providerErrorOf(make(prompts.underWay, callOf({ signal: abort.signal })));
    abort.abort();
    expect([(await made).code, (await providerErrorOf(make(prompts.done, aborted()))).code]).toEqual([
      'provider_disconnect',
      'provider_disconnect',
    ]);
  });
});
