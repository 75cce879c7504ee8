import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { appendFile, link, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../../core/time/clock';
import type {
  AsyncJobAdapter,
  JobCapabilities,
  JobHandle,
  JobOutput,
  JobSnapshot,
  JobSpec,
  SyncJobAdapter,
} from '../../contract/media-job';
import type { ProviderCall } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import { cancellation, deadlineFailure, mapInBandError, transportFailure } from '../../kit/upstream-errors';
import { hashText } from './conversation';
import { type AudioOptions, makeAudio, makeVideo, MUSIC_RATES, type VideoOptions } from './media-files';
import { describeInputs } from './mock-images';
import { refused, responseError, type Script, ScriptedCall } from './scripted-call';

export interface JobProviderOptions {
  /** The provider's id. */
  readonly id: string;
  readonly capabilities: JobCapabilities;
  readonly store: JobStore;
  readonly clock: Clock;
}

/**
 * Videos and music without a model, as a remote provider with a queue makes them. Jobs are stored in a directory and
 * their state follows from the time: they continue when a gateway process is killed.
 */
export class MockJobs implements AsyncJobAdapter {
  readonly mode = 'async';
  readonly capabilities: JobCapabilities;

  constructor(protected readonly options: JobProviderOptions) {
    this.capabilities = options.capabilities;
  }

  submit(spec: JobSpec, token: string, call: ProviderCall): Promise<JobHandle> {
    return withProviderErrors(call, async () => {
      const id = this.capabilities.idempotentSubmit ? token : randomUUID();
      await acceptJob(spec, { id, token }, this.options, call);
      return { v: 1, provider: this.options.id, upstreamModel: call.upstreamModel, id };
    });
  }

  poll({ id }: JobHandle, call: ProviderCall): Promise<JobSnapshot> {
    return withProviderErrors(call, async () => {
      const { snapshot } = await this.find(id);
      return 'progress' in snapshot && !this.capabilities.progress ? { ...snapshot, progress: null } : snapshot;
    });
  }

  openOutput({ url }: JobOutput, call: ProviderCall): Promise<Readable> {
    return withProviderErrors(call, async () => {
      const { record, snapshot } = await this.find(jobIdOf(url) ?? '');
      if (snapshot.state !== 'succeeded') throw responseError(404, this.options.clock.now());
      return Readable.from([await makeOutput(record.output)]);
    });
  }

  protected async find(id: string): Promise<{ readonly record: JobRecord; readonly snapshot: JobSnapshot }> {
    const { store, clock } = this.options;
    const record = await store.find(id);
    if (record === null) throw responseError(404, clock.now());
    return { record, snapshot: snapshotOf(record, await store.isCanceled(id), clock.now()) };
  }
}

/** Mock jobs that support cancellation. */
export class CancelableMockJobs extends MockJobs {
  cancel({ id }: JobHandle, call: ProviderCall): Promise<'canceled' | 'requested' | 'too-late'> {
    return withProviderErrors(call, async () => {
      const { record, snapshot } = await this.find(id);
      const { cancel } = record.script;
      if (snapshot.state === 'canceled') return 'canceled';
      if (cancel === 'too_late' || (snapshot.state !== 'queued' && snapshot.state !== 'running')) return 'too-late';
      if (cancel === 'requested') return 'requested';
      await this.options.store.cancel(record);
      return 'canceled';
    });
  }
}

/** Music from a provider that returns the file itself, after the scripted time. */
export class MockMusicSync implements SyncJobAdapter {
  readonly mode = 'sync';
  readonly capabilities: JobCapabilities;

  constructor(private readonly options: JobProviderOptions) {
    this.capabilities = options.capabilities;
  }

  make(spec: JobSpec, call: ProviderCall): ReturnType<SyncJobAdapter['make']> {
    return withProviderErrors(call, async () => {
      const ids = { id: randomUUID(), token: call.requestId };
      const { scripted, output } = await acceptJob(spec, ids, this.options, call);
      await scripted.wait(scripted.script.runMs ?? DEFAULT_RUN_MS, 'first_token');
      const failure = failureOf(scripted.script);
      if (failure !== null) throw failure;
      const bytes = await makeOutput(output);
      scripted.check('first_token');
      return { state: 'succeeded', outputs: [{ type: 'audio', url: null, bytes }], usage: null };
    });
  }
}

/** Accepts a job before or after its scripted failure, or not at all. Resolves when the response is ready. */
async function acceptJob(
  spec: JobSpec,
  ids: Pick<JobRecord, 'id' | 'token'>,
  { store, clock }: JobProviderOptions,
  call: ProviderCall,
) {
  const scripted = new ScriptedCall(spec.prompt, 'prompt', call, clock);
  const { script } = scripted;
  const output = planOutput(spec, scripted.text);
  const accept = () => store.accept({ ...ids, script, output, acceptedAtMs: clock.now() });
  if (script.unreachable) throw transportFailure('connect', new Error('Scripted failure.'));
  if (script.accept) await accept();
  await scripted.reply();
  if (!script.accept) await accept();
  return { scripted, output };
}

/** Runs a call to the provider. An unusable directory counts as an unreachable provider. */
async function withProviderErrors<Value>({ signal }: ProviderCall, work: () => Promise<Value>): Promise<Value> {
  try {
    if (signal.aborted) throw cancellation('headers', signal.reason);
    return await work();
  } catch (error) {
    throw error instanceof ProviderError ? error : transportFailure('headers', error);
  }
}

/** An accepted job. Its state follows from this record and the time, except for a cancellation. */
interface JobRecord {
  readonly id: string;
  /** The token of the submission. */
  readonly token: string;
  readonly script: Script;
  readonly output: OutputOptions;
  /** Milliseconds since the epoch, as all times here. */
  readonly acceptedAtMs: number;
}

/** An event at the provider: a line of `log.jsonl`. */
export type JobEvent = 'submitted' | 'repeated' | 'canceled';

const PRIVATE = { mode: 0o600 } as const;
const DEFAULT_QUEUED_MS = 500;
const DEFAULT_RUN_MS = 2_000;
const KEPT_MS = 24 * 3_600_000;
const SWEEP_MS = 3_600_000;

/**
 * The provider's storage: a directory that outlives processes and is shared by several, like a remote provider. Every
 * change is one atomic file system operation, so a killed process leaves nothing half done.
 *
 * - `<id>.job`: an accepted job
 * - `<id>.canceled`: it was canceled
 * - `log.jsonl`: a line for each event, without prompts
 */
export class JobStore {
  private sweptAtMs = 0;

  constructor(private readonly path: string) {}

  /** A job with the same id stays unchanged. */
  async accept(record: JobRecord): Promise<void> {
    await mkdir(this.path, { recursive: true, mode: 0o700 });
    await this.sweep(record.acceptedAtMs);
    const draft = join(this.path, `${randomUUID()}.draft`);
    await writeFile(draft, JSON.stringify(record), { ...PRIVATE, flag: 'wx' });
    // Written completely before it is linked to its name, which only one process can do.
    const isNew = await unlessCode('EEXIST', link(draft, this.file(record.id, 'job')));
    await rm(draft);
    await this.log(isNew === null ? 'repeated' : 'submitted', record);
  }

  async find(id: string): Promise<JobRecord | null> {
    const text = await unlessCode('ENOENT', readFile(this.file(id, 'job'), 'utf8'));
    return text === null ? null : (JSON.parse(text.value) as JobRecord);
  }

  async cancel(record: JobRecord): Promise<void> {
    const creating = writeFile(this.file(record.id, 'canceled'), '', { ...PRIVATE, flag: 'wx' });
    if ((await unlessCode('EEXIST', creating)) !== null) await this.log('canceled', record);
  }

  async isCanceled(id: string): Promise<boolean> {
    return (await unlessCode('ENOENT', stat(this.file(id, 'canceled')))) !== null;
  }

  private async log(event: JobEvent, { id, token, output: { kind } }: JobRecord): Promise<void> {
    const line = JSON.stringify({ event, id, token, kind, pid: process.pid });
    await appendFile(join(this.path, 'log.jsonl'), `${line}\n`, PRIVATE);
  }

  /** Removes the files of old jobs. */
  private async sweep(nowMs: number): Promise<void> {
    if (nowMs - this.sweptAtMs < SWEEP_MS) return;
    this.sweptAtMs = nowMs;
    for (const name of await readdir(this.path)) {
      const file = join(this.path, name);
      const found = await unlessCode('ENOENT', stat(file));
      if (found !== null && nowMs - found.value.mtimeMs > KEPT_MS) await rm(file, { force: true });
    }
  }

  /** Ids are untrusted: the file is always inside this directory. */
  private file(id: string, suffix: string): string {
    return join(this.path, `${encodeURIComponent(id)}.${suffix}`);
  }
}

/** The state of a job, as a poll reports it. */
function snapshotOf({ id, script, output, acceptedAtMs }: JobRecord, isCanceled: boolean, nowMs: number): JobSnapshot {
  if (isCanceled) return { state: 'canceled', error: jobFailure('The provider canceled the job.') };
  const { runMs = DEFAULT_RUN_MS, queuedMs = DEFAULT_QUEUED_MS } = script;
  const ranMs = nowMs - acceptedAtMs - queuedMs;
  if (ranMs < 0) return { state: 'queued', progress: 0 };
  if (ranMs < runMs) return { state: 'running', progress: Math.floor((100 * ranMs) / runMs) };
  const error = failureOf(script);
  if (error !== null) return { state: script.fail === 'timeout' ? 'expired' : 'failed', error };
  const type = output.kind === 'video' ? 'video' : 'audio';
  return { state: 'succeeded', outputs: [{ type, url: URL_SCHEME + encodeURIComponent(id) }], usage: null };
}

/** The scripted failure of a job; `null` when it succeeds. */
function failureOf({ fail }: Script): ProviderError | null {
  switch (fail) {
    case undefined:
      return null;
    case 'timeout':
      return deadlineFailure('job');
    case 'error':
      return jobFailure('The provider could not finish the job.');
    case 'content':
      return mapInBandError({ error: { message: 'Refused.', code: 'content_policy_violation' } }, 'job');
  }
}

function jobFailure(message: string): ProviderError {
  return new ProviderError('provider_error', message, { phase: 'job', fallback: false });
}

async function unlessCode<Value>(code: string, work: Promise<Value>): Promise<{ readonly value: Value } | null> {
  try {
    return { value: await work };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === code) return null;
    throw error;
  }
}

/** The file that a job makes. */
type OutputOptions = ({ readonly kind: 'video' } & VideoOptions) | AudioOptions;

const MUSIC_FORMATS = ['mp3', 'wav', 'flac'] as const;
const DEFAULT_MUSIC_RATE = 44_100;
const URL_SCHEME = 'mock-media:';

/**
 * The output that a request describes. Input images appear in the title of a video.
 * @param text the prompt without directives
 * @throws ProviderError `validation_failed` for options that the mock lacks
 */
function planOutput(spec: JobSpec, text: string): OutputOptions {
  const { durationSeconds: seconds } = spec;
  if (spec.kind === 'video') {
    const { resolution, aspectRatio, audio, firstFrame, lastFrame, references } = spec;
    const prompt = [text.trim(), ...describeInputs([firstFrame, lastFrame, ...references])].join(' ');
    return { kind: 'video', prompt, seconds, resolution, aspectRatio, audio, seed: hashText(prompt) };
  }
  const format = MUSIC_FORMATS.find((each) => each === (spec.format ?? 'mp3'));
  const sampleRate = spec.sampleRate ?? DEFAULT_MUSIC_RATE;
  if (format === undefined) throw refused('The mock does not make music in this format.', 'format');
  if (!MUSIC_RATES.includes(sampleRate)) throw refused('The mock does not make music at this rate.', 'sample_rate');
  return { kind: 'music', format, seconds, sampleRate, seed: hashText(text.trim()), transcript: '' };
}

/** The same file for the same options. */
function makeOutput(options: OutputOptions): Promise<Buffer> {
  return options.kind === 'video' ? makeVideo(options) : makeAudio(options);
}

/** The job that a URL belongs to; `null`: not a URL of an output. */
function jobIdOf(url: string | null): string | null {
  return url?.startsWith(URL_SCHEME) ? decodeURIComponent(url.slice(URL_SCHEME.length)) : null;
}
