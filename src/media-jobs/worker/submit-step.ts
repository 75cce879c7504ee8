import { Inject, Injectable, Logger } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { CLOCK, type Clock } from '../../common/clock';
import { GatewayError } from '../../common/errors/gateway-error';
import { APP_CONFIG, type AppConfig } from '../../config/app-config';
import { driverErrorOf, isPermanentDatabaseError } from '../../database/driver-error';
import { isUnsupported, mayFallBack, wasNotBegun } from '../../inference/attempt-policy';
import type { AsyncJobAdapter, JobHandle, JobSpec, SyncJobAdapter } from '../../providers/contract/media-job';
import type { ProviderError } from '../../providers/contract/provider-error';
import { JobInputs } from '../job-inputs';
import { JobWorkRepository } from '../job-work.repository';
import { MediaJobRepository } from '../media-job.repository';
import type { MediaJob } from '../media-job.types';
import { type Finalized, FinalizeStep } from './finalize-step';
import { inLimits } from './in-limits';
import { JobEndings } from './job-endings';
import { NO_RESULT, NOBODY_ACCEPTS, toJobError, toProviderError, UNKEEPABLE, UNKNOWN_SUBMISSION } from './job-failure';
import { readJobSpec } from './job-spec';
import { deadlinesOf, type JobChance, type JobTarget, JobTargets, toCall } from './job-targets';
import { JOB_WORKER_OPTIONS, type JobWorkerOptions } from './job-worker-options';
import { pollPauseMs, submitPauseMs } from './pauses';
import { laneOf, type NextTurn, nextTurn, type Turn } from './turn';

/** A job that was sent to a provider once more. */
interface Sent {
  readonly turn: Turn;
  readonly target: JobTarget;
  readonly spec: JobSpec;
}

/**
 * Gets a job accepted by a provider, once. What was surely not accepted may be sent to another one; what may have been
 * accepted is sent again only where the provider can tell that it is the same, and otherwise given up.
 */
@Injectable()
export class SubmitStep {
  private readonly logger = new Logger(SubmitStep.name);
  private readonly inference: AppConfig['inference'];

  constructor(
    private readonly work: JobWorkRepository,
    private readonly jobs: MediaJobRepository,
    private readonly targets: JobTargets,
    private readonly inputs: JobInputs,
    private readonly finalize: FinalizeStep,
    private readonly endings: JobEndings,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(APP_CONFIG) { inference }: Pick<AppConfig, 'inference'>,
    @Inject(JOB_WORKER_OPTIONS) private readonly options: JobWorkerOptions,
  ) {
    this.inference = inference;
  }

  async run(turn: Turn): Promise<NextTurn> {
    if (turn.job.submitStartedAt !== null) return this.sendAgain(turn);
    const spec = await this.readSpec(turn);
    if (spec === null) return null;
    const chance = await this.targets.choose(turn.job);
    if (chance === null) return this.waitForProvider(turn);
    const sent = await this.begin(turn, chance);
    if (sent === null) return null;
    const { adapter } = chance;
    if (adapter.mode === 'sync') return this.make({ turn: sent, target: chance, spec }, adapter, chance);
    return this.send({ turn: sent, target: chance, spec }, adapter, chance);
  }

  /** `null`: a picture of the job is none, and never will be. */
  private async readSpec({ job, given }: Turn): Promise<JobSpec | null> {
    try {
      return await readJobSpec(job, this.inputs, given);
    } catch (error) {
      if (!(error instanceof GatewayError) || error.status >= 500) throw error;
      // It was one when the job was sent, which may have been accepted.
      if (job.submitStartedAt !== null) return this.giveUpUnknown(job, error);
      await this.endings.fail(job, { code: error.code, message: error.message }, error);
      return null;
    }
  }

  /**
   * Committed before the provider hears of it. `null`: the job is not ours any more. The flight ends then, and when it
   * cannot be committed.
   */
  private async begin(turn: Turn, { adapter, candidate, flight }: JobChance): Promise<Turn | null> {
    const { job } = turn;
    const place = {
      provider: candidate.provider.id,
      deploymentId: candidate.deployment.id,
      priceVersionId: candidate.priceVersion.id,
    };
    let token: string | null = null;
    try {
      token = await this.work.beginSubmission(job, { ...place, mode: adapter.mode });
    } finally {
      if (token === null) flight.abandon();
    }
    if (token === null) return null;
    return { ...turn, job: { ...job, ...place, providerToken: token, submissions: job.submissions + 1 } };
  }

  /** Whoever was at it before has left no word of what became of it. */
  private async sendAgain(turn: Turn): Promise<NextTurn> {
    const { job } = turn;
    const target = this.targets.find(job);
    const adapter = target?.adapter;
    if (target === null || adapter?.mode !== 'async' || !adapter.capabilities.idempotentSubmit) {
      return this.giveUpUnknown(job);
    }
    const spec = await this.readSpec(turn);
    return spec === null ? null : this.send({ turn, target, spec }, adapter, null);
  }

  private async send(sent: Sent, adapter: AsyncJobAdapter, chance: JobChance | null): Promise<NextTurn> {
    const { turn, target, spec } = sent;
    const { job } = turn;
    const { submitTimeoutMs } = this.options;
    const deadlines = deadlinesOf(submitTimeoutMs, this.inference.connectTimeoutMs);
    let handle: JobHandle;
    try {
      // Nothing but its time limit ends the call: half a submission is one that nobody knows the outcome of.
      handle = await inLimits(submitTimeoutMs, null, (signal) =>
        adapter.submit(spec, job.providerToken ?? job.id, toCall(job, target, deadlines, signal)),
      );
    } catch (error) {
      return this.refused(turn, adapter, chance, toProviderError(error));
    }
    chance?.flight.succeed(0);
    const inMs = pollPauseMs(adapter.capabilities, 0);
    const wakeUp = await this.keep(turn, handle, inMs);
    if (wakeUp === null) await this.callOff(turn, target, adapter, handle);
    return nextTurn(wakeUp, inMs, laneOf(job));
  }

  /**
   * A provider that has the job must not be forgotten over a database that is away for a moment. `null`: the job has ended,
   * at the latest here, over a handle that the database refuses; sending it again would bring the same one.
   */
  private async keep({ job, given }: Turn, handle: JobHandle, inMs: number) {
    for (;;) {
      try {
        return await this.work.storeHandle(job, handle, inMs);
      } catch (error) {
        if (isPermanent(error)) {
          await this.endings.fail(job, UNKEEPABLE, error);
          return null;
        }
        if (given.aborted) throw error;
        await delay(this.options.unwokenSweepMs, undefined, { signal: given }).catch(() => undefined);
      }
    }
  }

  /** The job was given up, or taken over, while its provider accepted it: where nobody else knows of that, we tell it. */
  private async callOff({ job }: Turn, target: JobTarget, adapter: AsyncJobAdapter, handle: JobHandle): Promise<void> {
    if (adapter.cancel === undefined) return;
    const { pollTimeoutMs } = this.options;
    const deadlines = deadlinesOf(pollTimeoutMs, this.inference.connectTimeoutMs);
    try {
      if (await this.isSeenTo(job, adapter, handle)) return;
      await inLimits(pollTimeoutMs, null, async (signal) =>
        adapter.cancel?.(handle, toCall(job, target, deadlines, signal)),
      );
    } catch (error) {
      this.logger.warn({ message: 'a provider was not told that a job was given up', jobId: job.id, err: error });
    }
  }

  /**
   * Whether the handle is in the job's row, be it that only the database's answer to that was lost; or will be, since whoever
   * takes over a job that can be sent again gets the same one.
   */
  private async isSeenTo(job: MediaJob, { capabilities }: AsyncJobAdapter, handle: JobHandle): Promise<boolean> {
    const current = await this.jobs.find(job.id, job.organizationId, job.kind);
    if (current === null) return false;
    if (current.handle !== null) return current.handle.id === handle.id;
    return capabilities.idempotentSubmit && current.completedAt === null;
  }

  /** A provider that answers with the result: the worker waits for it, and nobody can take that over. */
  private async make(sent: Sent, adapter: SyncJobAdapter, chance: JobChance): Promise<NextTurn> {
    const { turn, target, spec } = sent;
    const { job, lost } = turn;
    const { replyTimeoutMs, connectTimeoutMs } = this.inference;
    const call = toCall(job, target, deadlinesOf(replyTimeoutMs, connectTimeoutMs), lost);
    let success;
    try {
      success = await inLimits(replyTimeoutMs, lost, (signal) => adapter.make(spec, { ...call, signal }));
    } catch (error) {
      if (!lost.aborted) return this.refused(turn, adapter, chance, toProviderError(error));
      chance.flight.abandon();
      return null;
    }
    chance.flight.succeed(0);
    // The result is here and nowhere else, so that it is worth some patience.
    for (let attempt = 0; !turn.given.aborted; attempt++) {
      const finalized = await this.finalize
        .run(turn, success, { adapter, call })
        .catch((error: unknown) => this.mayPass(job, error));
      if (finalized === 'ended') return null;
      if (finalized === 'no-result') break;
      const pauseMs = submitPauseMs(attempt, undefined);
      await delay(pauseMs, undefined, { signal: turn.given }).catch(() => undefined);
    }
    if (!turn.given.aborted) await this.endings.fail(job, NO_RESULT);
    return null;
  }

  /** A database that is away for a moment is no other than a storage that is. */
  private mayPass({ id: jobId }: MediaJob, error: unknown): Finalized {
    if (isPermanent(error)) throw error;
    this.logger.warn({ message: 'the end of a job could not be written down', jobId, err: error });
    return 'no-storage';
  }

  private async refused(
    turn: Turn,
    adapter: AsyncJobAdapter | SyncJobAdapter,
    chance: JobChance | null,
    error: ProviderError,
  ): Promise<NextTurn> {
    const { job } = turn;
    conclude(chance, error);
    this.report(job, error);
    // What a repetition was refused for, as for being one too many, says nothing about the submission before it.
    const isRepetition = chance === null;
    if (!wasNotBegun(error) || (isRepetition && mayFallBack(error, true))) {
      return this.outcomeUnknown(turn, adapter, error);
    }
    if (!mayFallBack(error, true) || (isUnsupported(error) && job.submissions >= job.route.length)) {
      await this.endings.fail(job, toJobError(error), error);
      return null;
    }
    const isLast = this.targets.isLast(job);
    if (isLast && this.isOutOfPatience(job)) {
      await this.endings.fail(job, toJobError(error), error);
      return null;
    }
    const inMs = isLast ? submitPauseMs(job.submissions, error.options.retryAfterSeconds) : 0;
    return nextTurn(await this.work.withdrawSubmission(job, inMs), inMs, laneOf(job));
  }

  private async outcomeUnknown(
    turn: Turn,
    adapter: AsyncJobAdapter | SyncJobAdapter,
    error: ProviderError,
  ): Promise<NextTurn> {
    const { job } = turn;
    if (adapter.mode === 'sync') {
      await this.endings.fail(job, toJobError(error), error);
      return null;
    }
    if (!adapter.capabilities.idempotentSubmit || this.isOutOfPatience(job)) return this.giveUpUnknown(job, error);
    const inMs = submitPauseMs(job.fence, error.options.retryAfterSeconds);
    return nextTurn(await this.work.reschedule(job, inMs), inMs, laneOf(job));
  }

  /** An alarm: the provider may be making something that nobody will fetch. */
  private async giveUpUnknown(job: MediaJob, cause?: unknown): Promise<null> {
    const { id: jobId, provider, providerToken } = job;
    const facts = { jobId, provider, providerToken, event: 'provider_submit_unknown', err: cause };
    this.logger.error({ message: 'it is not known whether a provider accepted a job', ...facts });
    await this.endings.fail(job, UNKNOWN_SUBMISSION, cause);
    return null;
  }

  /** Nobody can be asked now: all are away, full, or not offered any more. */
  private async waitForProvider({ job }: Turn): Promise<NextTurn> {
    if (this.isOutOfPatience(job)) {
      await this.endings.fail(job, NOBODY_ACCEPTS);
      return null;
    }
    const inMs = submitPauseMs(job.fence, undefined);
    return nextTurn(await this.work.reschedule(job, inMs), inMs, laneOf(job));
  }

  private isOutOfPatience({ createdAt }: MediaJob): boolean {
    return this.clock.now() - createdAt.getTime() > this.options.patienceMs;
  }

  private report({ id, provider, deploymentId }: MediaJob, { code, options }: ProviderError): void {
    const { credentialRefused, phase, upstream } = options;
    const facts = { jobId: id, provider, deployment: deploymentId, code, phase, upstream };
    if (credentialRefused === true) this.logger.error({ message: 'a provider refused our credential', ...facts });
    else this.logger.warn({ message: 'a provider did not accept a job', ...facts });
  }
}

function isPermanent(error: unknown): boolean {
  return isPermanentDatabaseError(driverErrorOf(error));
}

/** What it says of the deployment. A mock's failures are asked for by the requests themselves. */
function conclude(chance: JobChance | null, error: ProviderError): void {
  if (chance?.candidate.provider.simulated === true) chance.flight.abandon();
  else chance?.flight.fail(error);
}
