import { randomUUID } from 'node:crypto';
import { appendFile, link, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JobSnapshot } from '../../contract/media-job';
import { ProviderError } from '../../contract/provider-error';
import { deadlineFailure, mapInBandError } from '../../kit/upstream-errors';
import { type OutputOptions, outputUrl } from './job-outputs';
import type { Script } from './scripted-call';

/** An accepted job. Its state follows from this record and the time, except for a cancellation. */
export interface JobRecord {
  readonly id: string;
  /** Of the submission. */
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
export function snapshotOf(
  { id, script, output, acceptedAtMs }: JobRecord,
  isCanceled: boolean,
  nowMs: number,
): JobSnapshot {
  if (isCanceled) return { state: 'canceled', error: jobFailure('The provider canceled the job.') };
  const runMs = runMsOf(script);
  const ranMs = nowMs - acceptedAtMs - (script.queuedMs ?? DEFAULT_QUEUED_MS);
  if (ranMs < 0) return { state: 'queued', progress: 0 };
  if (ranMs < runMs) return { state: 'running', progress: Math.floor((100 * ranMs) / runMs) };
  const error = failureOf(script);
  if (error !== null) return { state: script.fail === 'timeout' ? 'expired' : 'failed', error };
  const type = output.kind === 'video' ? 'video' : 'audio';
  return { state: 'succeeded', outputs: [{ type, url: outputUrl(id) }], usage: null };
}

export function runMsOf({ runMs = DEFAULT_RUN_MS }: Script): number {
  return runMs;
}

/** The scripted failure of a job; `null` when it succeeds. */
export function failureOf({ fail }: Script): ProviderError | null {
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
