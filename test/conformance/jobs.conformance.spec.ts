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
  JobHandle,
  JobSnapshot,
  JobSpec,
} from '../../src/providers/contract/media-job';
import type { ProviderCall } from '../../src/providers/contract/provider-call';
import { musicSpec, videoSpec } from './job-requests';
import { providerCall, providerErrorOf } from './provider-call';
import { type JobPrompts, MOCK_MEDIA_DIR, SUBJECTS } from './subjects';

type Kind = 'video' | 'music';
type Subject = readonly [name: string, kind: Kind, adapter: JobAdapter, prompts: JobPrompts];

const SECRET = 'the secret of my prompt';
const SUBJECTS_WITH_JOBS: readonly Subject[] = SUBJECTS.flatMap(({ definition, environment, jobPrompts }) => {
  const provider = definition.create(environment('http://127.0.0.1:9'));
  return (['video', 'music'] as const).flatMap((kind): Subject[] => {
    const adapter = provider?.[kind];
    if (adapter === undefined) return [];
    if (jobPrompts === undefined) throw new Error(`the row of ${definition.id} has no jobPrompts`);
    return [[`${definition.id} ${kind}`, kind, adapter, jobPrompts]];
  });
});
const ASYNC = SUBJECTS_WITH_JOBS.flatMap(([name, kind, adapter, prompts]) =>
  adapter.mode === 'async' ? [[name, kind, adapter, prompts] as const] : [],
);
const SYNC = SUBJECTS_WITH_JOBS.flatMap(([name, kind, adapter, prompts]) =>
  adapter.mode === 'sync' ? [[name, kind, adapter, prompts] as const] : [],
);

const probe = new ArtifactProbe();
let tokens = 0;
const newToken = () => `token-${process.pid}-${(tokens += 1)}`;
const specOf = (kind: Kind, prompt: string): JobSpec =>
  kind === 'video' ? videoSpec({ prompt: `${prompt} ${SECRET}` }) : musicSpec({ prompt: `${prompt} ${SECRET}` });
/** Its numbers are of one job. */
const callOf = (overrides: Partial<ProviderCall> = {}) => providerCall({ requestId: newToken(), ...overrides });
const aborted = () => callOf({ signal: AbortSignal.abort() });

afterAll(async () => {
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

async function fileOf(adapter: JobAdapter, snapshot: JobSnapshot) {
  if (snapshot.state !== 'succeeded') throw new Error(`the job is ${snapshot.state}`);
  const [output] = snapshot.outputs;
  if (output === undefined) throw new Error('there is no output');
  const body = output.bytes ?? (await adapter.open?.(output, callOf()));
  if (body === undefined) throw new Error('the provider neither has nor opens its output');
  const bytes = Buffer.isBuffer(body) ? body : await buffer(body);
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

const FILES = { video: { type: 'video' }, music: { type: 'audio', width: null } } as const;

describe.each(SUBJECTS_WITH_JOBS)('jobs of %s', (_name, _kind, { capabilities }) => {
  it('declare an output lifetime over a minute and ordered poll intervals', () => {
    const [first, max] = capabilities.pollMs;
    expect([capabilities.outputTtlSeconds > 60, first > 0, max >= first]).toEqual([true, true, true]);
  });
});

describe.each(ASYNC)('jobs of %s (asynchronous)', (_name, kind, adapter, prompts) => {
  const submit = (prompt: string, token = newToken(), call = callOf()) =>
    adapter.submit(specOf(kind, prompt), token, call);

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
    const expired = await ended(adapter, await submit(prompts.expired));
    const facts = [failed, expired].map((each) => ('error' in each ? [each.state, each.error.code] : [each.state]));
    expect(facts).toEqual([
      ['failed', 'provider_error'],
      ['expired', 'provider_timeout'],
    ]);
    expect(JSON.stringify([failed, expired])).not.toContain(SECRET);
  });

  it('distinguish a submission that was certainly not accepted from one that may have been', async () => {
    const phases = [prompts.unreachable, prompts.answerLost].map(
      async (prompt) => (await providerErrorOf(submit(prompt))).options.phase,
    );
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
    const handle = { ...(await submit(prompts.done)), id: 'another' };
    expect((await providerErrorOf(adapter.poll(handle, callOf()))).options.upstream?.status).toBe(404);
  });

  it('are cancelable while in progress, if supported, and not after they have ended', async () => {
    const handle = await submit(prompts.underWay);
    if (adapter.cancel === undefined) return;
    const answer = await adapter.cancel(handle, callOf());
    expect(['canceled', 'requested']).toContain(answer);
    const after = await adapter.poll(handle, callOf());
    expect(after.state === 'canceled').toBe(answer === 'canceled');
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

describe.each(SYNC)('jobs of %s (synchronous)', (_name, kind, adapter, prompts) => {
  const make = (prompt: string, call = callOf()) => adapter.make(specOf(kind, prompt), call);

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
