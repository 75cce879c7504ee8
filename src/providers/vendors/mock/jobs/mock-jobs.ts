import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { Clock } from '../../../../core/time/clock';
import type {
  AsyncJobAdapter,
  JobCapabilities,
  JobHandle,
  JobOutput,
  JobSnapshot,
  JobSpec,
} from '../../../contract/media-job';
import type { ProviderCall } from '../../../contract/provider-call';
import { transportFailure } from '../../../kit/upstream-errors';
import { CallTimer } from '../call-timer';
import { acceptJob, responseError, shouldFail, withProviderErrors } from './accept-job';
import { streamOutput } from './deliver-output';
import type { JobDirectory } from './job-directory';
import {
  finishesAtMs,
  makeOutput,
  type JobRecord,
  type JobState,
  parseOutputUrl,
  planJob,
  snapshotOf,
  stateAt,
} from './job-record';

export interface JobProviderOptions {
  /** The provider's id. */
  readonly id: string;
  readonly capabilities: JobCapabilities;
  readonly directory: JobDirectory;
  readonly clock: Clock;
}

/**
 * Videos and music without a model, as a remote provider with a queue makes them. Jobs are stored in a directory and
 * their state follows from the time: they continue when a gateway process is killed.
 */
export class MockJobs implements AsyncJobAdapter {
  readonly mode = 'async';
  readonly capabilities: JobCapabilities;
  protected readonly directory: JobDirectory;
  protected readonly clock: Clock;

  constructor(private readonly options: JobProviderOptions) {
    this.capabilities = options.capabilities;
    this.directory = options.directory;
    this.clock = options.clock;
  }

  submit(spec: JobSpec, token: string, call: ProviderCall): Promise<JobHandle> {
    return withProviderErrors(async () => {
      new CallTimer(call, this.clock).check('connect');
      const { script, output } = planJob(spec);
      const id = this.capabilities.idempotentSubmit ? token : randomUUID();
      await acceptJob({ id, token, script, output }, this.options, call);
      return { v: 1, provider: this.options.id, upstreamModel: call.upstreamModel, id };
    });
  }

  poll({ id }: JobHandle, call: ProviderCall): Promise<JobSnapshot> {
    return withProviderErrors(async () => {
      const timer = new CallTimer(call, this.clock);
      timer.check('headers');
      const record = await this.find(id);
      await this.failPoll(record, timer);
      const state = await this.stateOf(record);
      return snapshotOf(record, state, this.clock.now(), this.capabilities.progress);
    });
  }

  open({ url }: JobOutput, call: ProviderCall): Promise<Readable> {
    return withProviderErrors(async () => {
      const timer = new CallTimer(call, this.clock);
      timer.check('headers');
      const { id, number } = parseOutputUrl(url) ?? { id: '', number: 0 };
      const record = await this.find(id);
      const { script } = record;
      await this.requireOutput(record, number);
      await this.directory.log('opened', record, { output: number });
      const fault = (await shouldFail(script, this.directory, id, 'open')) ? script.artifact : undefined;
      if (fault === 'missing') throw responseError(404, this.clock.now());
      const bytes = await this.outputOf(record, number);
      timer.check('first_token');
      const onEnd = () =>
        withProviderErrors(async () => {
          await this.directory.dropOutput(id, number);
          await this.directory.log('delivered', record, { output: number });
        });
      return streamOutput(bytes, { fault, delayMs: script.delayMs, timer, onEnd });
    });
  }

  protected async find(id: string): Promise<JobRecord> {
    const record = await this.directory.find(id);
    if (record === null) throw responseError(404, this.clock.now());
    return record;
  }

  protected async stateOf(record: JobRecord): Promise<JobState> {
    return stateAt(record, await this.directory.isCanceled(record.id), this.clock.now());
  }

  private async requireOutput(record: JobRecord, number: number): Promise<void> {
    const nowMs = this.clock.now();
    const isMade = (await this.stateOf(record)) === 'succeeded' && number < (record.script.outputs ?? 1);
    if (!isMade) throw responseError(404, nowMs);
    if (nowMs > finishesAtMs(record) + this.capabilities.outputTtlSeconds * 1_000) throw responseError(410, nowMs);
  }

  /** Made on the first request, and kept until it was fetched. */
  private async outputOf({ id, output }: JobRecord, number: number): Promise<Buffer> {
    const kept = await this.directory.readOutput(id, number);
    if (kept !== null) return kept;
    const made = await makeOutput(output, number);
    await this.directory.storeOutput(id, number, made);
    return made;
  }

  private async failPoll({ script, acceptedAtMs }: JobRecord, timer: CallTimer): Promise<void> {
    if (this.clock.now() >= acceptedAtMs + (script.pollForMs ?? Infinity)) return;
    if (script.pollHang === true) await timer.wait(Infinity, 'headers');
    if (script.pollReset === true) throw transportFailure('headers', new Error('Scripted reset.'));
    if (script.pollStatus !== undefined) throw responseError(script.pollStatus, this.clock.now());
  }
}

/** Mock jobs that support cancellation. */
export class CancelableMockJobs extends MockJobs {
  cancel({ id }: JobHandle, call: ProviderCall): Promise<'canceled' | 'requested' | 'too-late'> {
    return withProviderErrors(async () => {
      new CallTimer(call, this.clock).check('headers');
      const record = await this.find(id);
      const state = await this.stateOf(record);
      const { cancel } = record.script;
      if (state === 'canceled') return 'canceled';
      if (cancel === 'error') throw responseError(503, this.clock.now());
      if (cancel === 'too_late' || (state !== 'queued' && state !== 'running')) return 'too-late';
      if (cancel === 'requested') return 'requested';
      await this.directory.cancel(record);
      return 'canceled';
    });
  }
}
