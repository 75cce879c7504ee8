import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
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
import { cancellation, transportFailure } from '../../kit/upstream-errors';
import { jobIdOf, makeOutput, planOutput, streamOf } from './job-outputs';
import { failureOf, type JobRecord, type JobStore, runMsOf, snapshotOf } from './job-store';
import { responseError, ScriptedCall } from './scripted-call';

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

  open({ url }: JobOutput, call: ProviderCall): Promise<Readable> {
    return withProviderErrors(call, async () => {
      const { record, snapshot } = await this.find(jobIdOf(url) ?? '');
      if (snapshot.state !== 'succeeded') throw responseError(404, this.options.clock.now());
      return streamOf(await makeOutput(record.output));
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
      await scripted.wait(runMsOf(scripted.script), 'first_token');
      const failure = failureOf(scripted.script);
      if (failure !== null) throw failure;
      const bytes = await makeOutput(output);
      scripted.check('first_token');
      return { state: 'succeeded', outputs: [{ type: 'audio', url: null, bytes }], usage: null };
    });
  }

  open({ bytes = Buffer.alloc(0) }: JobOutput): Promise<Readable> {
    return Promise.resolve(streamOf(bytes));
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
