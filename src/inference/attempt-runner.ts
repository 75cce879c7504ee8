import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../core/config/app-config';
import { traceFieldsOf } from '../core/observability/traces/tracing';
import { CLOCK, type Clock } from '../core/time/clock';
import type { CatalogModel, DeploymentTimeouts } from '../models/catalog-model';
import type { DeploymentCall } from '../models/routing/deployment-health';
import { HealthService } from '../models/routing/health.service';
import type { StreamSink } from '../providers/contract/chat';
import type { CallDeadlines, ProviderCall } from '../providers/contract/provider-call';
import { ProviderError } from '../providers/contract/provider-error';
import { isUnsupported, mayFallBack, mayRetry, needsOtherModel, pauseMs } from './attempt-policy';
import type { Candidate, Delivered, OpenedStream, SizedAnswer } from './inference.types';
import { ReasoningVaults } from './reasoning-vaults';
import { type Outcome, outcomeOf, RequestMetrics } from './request-metrics';
import type { RequestReservation } from './request-reservation';
import { mostUseful, noneAvailable } from './provider-failure';

const logger = new Logger('Attempts');

/** One call to one candidate. */
export type Attempt<Answer> = (candidate: Candidate, call: ProviderCall) => Promise<Answer>;

/** The first successful response of a series, with its call, which is still open. */
export interface Answered<Answer> {
  readonly answer: Answer;
  readonly deploymentCall: DeploymentCall;
  readonly candidate: Candidate;
}

export interface SeriesSettings {
  readonly health: HealthService;
  readonly vaults: ReasoningVaults;
  readonly metrics: RequestMetrics;
  readonly clock: Clock;
  /** Defaults for calls whose deployment sets none; `totalMs` also limits the whole series. */
  readonly deadlines: CallDeadlines;
  /** Whether `deadlines.firstTokenMs` limits the first token rather than the complete response. */
  readonly streamed: boolean;
  readonly maxAttempts: number;
}

/** The attempts of one request, in sequence, until one succeeds or no further attempt is allowed. */
export class AttemptSeries {
  private readonly startedAtMs: number;
  private readonly timeoutMs: number;
  private readonly atMostOnce: boolean;
  private attemptsLeft: number;
  private attemptsMade = 0;
  private readonly failures: ProviderError[] = [];
  /** Models for which the request is too long. */
  private readonly tooSmallModels = new Set<CatalogModel>();
  /** A failure that forbids further attempts. */
  private finalFailure: ProviderError | null = null;

  constructor(
    private readonly reservation: RequestReservation,
    private readonly signal: AbortSignal,
    private readonly settings: SeriesSettings,
  ) {
    const { routing, atMostOnce } = reservation.input;
    this.startedAtMs = settings.clock.monotonic();
    this.timeoutMs = Math.min(routing?.timeout_ms ?? Infinity, settings.deadlines.totalMs);
    this.attemptsLeft = routing?.max_attempts ?? settings.maxAttempts;
    this.atMostOnce = atMostOnce === true;
  }

  /**
   * @param onLastCandidate called once, when no fallback is left.
   * @throws ProviderError the most useful of the failures; GatewayError `no_provider_available` or
   * `provider_rate_limited` when no provider was called.
   */
  async callCandidates<Answer>(attempt: Attempt<Answer>, onLastCandidate?: () => void): Promise<Answered<Answer>> {
    const { candidates } = this.reservation;
    let announce = onLastCandidate;
    for (let index = 0; index < candidates.length && this.mayContinue(); index++) {
      const candidate = candidates[index] as Candidate;
      if (this.tooSmallModels.has(candidate.model)) continue;
      if (index > 0 && !(await this.backOffBefore(candidate, candidates[index - 1]))) continue;
      const isLast = index === candidates.length - 1 || this.attemptsLeft === 1 || !this.allowsFallbacks;
      if (isLast) {
        announce?.();
        announce = undefined;
      }
      const answered = await this.tryCandidate(candidate, attempt, isLast);
      if (answered !== null) return answered;
    }
    throw this.errorToThrow();
  }

  /** Ends a failed call and counts it against the deployment's health if the deployment caused it. */
  conclude(deploymentCall: DeploymentCall, { provider }: Candidate, error: ProviderError): void {
    if (this.signal.aborted || provider.simulated === true || this.ranOutOfRequestTime(error)) deploymentCall.abandon();
    else deploymentCall.fail(error);
  }

  /** Records a call that has ended. @param error why it failed; `null`: it succeeded */
  recordCall({ startedAtMs }: DeploymentCall, candidate: Candidate, error: unknown): void {
    const { clock, metrics } = this.settings;
    const durationMs = clock.monotonic() - startedAtMs;
    metrics.recordAttempt(candidate, this.reservation.input.operation, this.outcomeOfCall(error), durationMs);
  }

  private outcomeOfCall(error: unknown): Outcome {
    if (error === null) return 'success';
    if (this.signal.aborted) return 'canceled';
    return error instanceof ProviderError ? outcomeOf(0, error.code) : 'internal_error';
  }

  /** Counts and logs the stream events that were skipped because they could not be parsed. */
  noteSkippedEvents({ health }: DeploymentCall, { provider, deployment }: Candidate, skippedEvents = 0): void {
    if (skippedEvents === 0) return;
    health.skippedEvents += skippedEvents;
    const { requestId } = this.reservation.input.context;
    logger.warn({
      event: 'provider_event_skipped',
      message: 'skipped a provider event that cannot be parsed',
      request_id: requestId,
      provider: provider.id,
      deployment: deployment.id,
      skipped_events: skippedEvents,
    });
  }

  /** Returns `null` when the candidate was not admitted, or failed and may not be retried. */
  private async tryCandidate<Answer>(
    candidate: Candidate,
    attempt: Attempt<Answer>,
    isLast: boolean,
  ): Promise<Answered<Answer> | null> {
    const { health, clock } = this.settings;
    for (let retried = false; ; retried = true) {
      const admission = health.beginCall(candidate.health, candidate.load);
      const deploymentCall = admission instanceof Promise ? await admission : admission;
      if (deploymentCall === null) return null;
      this.attemptsLeft--;
      this.attemptsMade++;
      try {
        return { answer: await attempt(candidate, this.toCall(candidate)), deploymentCall, candidate };
      } catch (error) {
        const failure = this.recordFailure(error, deploymentCall, candidate);
        const tookMs = clock.monotonic() - deploymentCall.startedAtMs;
        if (retried || this.attemptsLeft === 0 || this.signal.aborted) return null;
        if (!mayRetry(failure, tookMs, isLast, this.atMostOnce)) return null;
        if (!(await this.pause(pauseMs(failure, Math.random)))) return null;
      }
    }
  }

  private toCall(candidate: Candidate): ProviderCall {
    const { context, principal } = this.reservation.input;
    const { model, deployment } = candidate;
    const { vaults } = this.settings;
    const attempt = this.reservation.beginAttempt(candidate);
    return {
      requestId: context.requestId,
      ownerId: principal.organizationId,
      trace: this.reservation.steps ?? undefined,
      attempt,
      publicModel: model.id,
      upstreamModel: deployment.upstreamModel,
      features: candidate.features,
      quirks: candidate.quirks,
      mapping: deployment.mapping,
      deadlines: this.deadlinesOf(candidate),
      maxOutputTokens: model.maxOutputTokens ?? undefined,
      openVault: model.modality === 'text' ? () => vaults.of(principal.organizationId, deployment.id) : undefined,
      signal: this.signal,
    };
  }

  private deadlinesOf({ deployment: { timeouts } }: Candidate): CallDeadlines {
    const { streamed, deadlines: configured } = this.settings;
    const deadlines = timeouts === undefined ? configured : withTimeouts(configured, timeouts, streamed);
    if (this.attemptsMade === 1 && this.timeoutMs === deadlines.totalMs) return deadlines;
    return { ...deadlines, totalMs: Math.max(1, this.timeLeftMs()) };
  }

  private timeLeftMs(): number {
    return this.timeoutMs - (this.settings.clock.monotonic() - this.startedAtMs);
  }

  private get allowsFallbacks(): boolean {
    return this.reservation.input.routing?.allow_fallbacks !== false;
  }

  private mayContinue(): boolean {
    if (this.finalFailure !== null || this.attemptsLeft === 0) return false;
    if (this.failures.length === 0) return true;
    return this.allowsFallbacks && !this.signal.aborted && this.timeLeftMs() > 0;
  }

  /** Backs off before calling another deployment of a provider that was just unavailable. */
  private backOffBefore(next: Candidate, previous: Candidate | undefined): Promise<boolean> | true {
    const failure = this.failures.at(-1);
    if (failure?.code !== 'provider_unavailable' || next.provider !== previous?.provider) return true;
    return this.pause(pauseMs(failure, Math.random));
  }

  /** Returns `false` when the time limit would be exceeded or the request was aborted. */
  private async pause(durationMs: number): Promise<boolean> {
    if (durationMs >= this.timeLeftMs()) return false;
    try {
      await delay(durationMs, undefined, { signal: this.signal });
      return true;
    } catch {
      return false;
    }
  }

  private recordFailure(error: unknown, deploymentCall: DeploymentCall, candidate: Candidate): ProviderError {
    this.recordCall(deploymentCall, candidate, error);
    if (!(error instanceof ProviderError)) {
      deploymentCall.abandon();
      throw error;
    }
    this.conclude(deploymentCall, candidate, error);
    this.reservation.noteFailure(this.signal.aborted ? 'canceled' : error.code);
    this.report(error, deploymentCall, candidate);
    this.failures.push(error);
    if (needsOtherModel(error)) this.tooSmallModels.add(candidate.model);
    if (!mayFallBack(error, this.atMostOnce)) this.finalFailure = error;
    return error;
  }

  /** Whether the call ran out of the request's time rather than the deployment's own limit. */
  private ranOutOfRequestTime({ options }: ProviderError): boolean {
    if (this.timeLeftMs() > 0) return false;
    return options.phase === 'stream' || this.attemptsMade > 1 || this.timeoutMs < this.settings.deadlines.totalMs;
  }

  private errorToThrow(): Error {
    if (this.finalFailure !== null) return this.finalFailure;
    if (this.failures.length > 0 && this.timeLeftMs() <= 0) {
      const options = { phase: 'headers', fallback: false, cause: this.failures.at(-1) } as const;
      return new ProviderError(
        'provider_timeout',
        'No provider answered within the time limit of the request.',
        options,
      );
    }
    return mostUseful(this.failures) ?? noneAvailable(this.reservation.candidates, this.settings.clock.monotonic());
  }

  private report(error: ProviderError, deploymentCall: DeploymentCall, { deployment, provider }: Candidate): void {
    // A disconnect is not a provider failure, and an unsupported request was never sent.
    if (this.signal.aborted || isUnsupported(error)) return;
    const { credentialRefused, phase, upstream } = error.options;
    const facts = {
      ...traceFieldsOf(this.reservation.input.context),
      event: credentialRefused === true ? 'provider_credential_refused' : 'provider_call_failed',
      message: credentialRefused === true ? 'a provider refused our credential' : 'a provider call failed',
      request_id: this.reservation.input.context.requestId,
      client_request_id: this.reservation.input.context.clientRequestId,
      provider: provider.id,
      deployment: deployment.id,
      attempt: this.attemptsMade,
      code: error.code,
      phase,
      duration_ms: Math.round(this.settings.clock.monotonic() - deploymentCall.startedAtMs),
      upstream,
    };
    // Only a refused credential needs action by the operator.
    if (credentialRefused === true) {
      this.settings.metrics.recordRefusedCredential(provider.id);
      logger.error(facts);
    } else {
      logger.warn(facts);
    }
  }
}

function withTimeouts(
  configured: CallDeadlines,
  { firstTokenMs, idleMs }: DeploymentTimeouts,
  streamed: boolean,
): CallDeadlines {
  return {
    ...configured,
    firstTokenMs: (streamed ? firstTokenMs : undefined) ?? configured.firstTokenMs,
    idleMs: idleMs ?? configured.idleMs,
  };
}

/**
 * Calls the candidates of a request in order until one succeeds or no further attempt is allowed
 * (src/models/routing/README.md). `routing` observes the outcome of each call.
 */
@Injectable()
export class AttemptRunner {
  private readonly ofStreams: SeriesSettings;
  private readonly ofReplies: SeriesSettings;

  constructor(
    health: HealthService,
    vaults: ReasoningVaults,
    metrics: RequestMetrics,
    @Inject(CLOCK) clock: Clock,
    @Inject(APP_CONFIG) config: AppConfig,
  ) {
    const { connectTimeoutMs, firstTokenTimeoutMs, replyTimeoutMs, idleTimeoutMs, totalTimeoutMs } = config.inference;
    const { maxAttempts } = config.routing;
    const deadlines = {
      connectMs: connectTimeoutMs,
      firstTokenMs: firstTokenTimeoutMs,
      idleMs: idleTimeoutMs,
      totalMs: totalTimeoutMs,
    };
    this.ofStreams = { health, vaults, metrics, clock, maxAttempts, deadlines, streamed: true };
    // A non-streamed response sends no bytes while the model thinks.
    this.ofReplies = { ...this.ofStreams, streamed: false, deadlines: { ...deadlines, firstTokenMs: replyTimeoutMs } };
  }

  /**
   * Runs the attempts of a non-streamed response.
   * @throws ProviderError the most useful of the failures; GatewayError `no_provider_available` or
   * `provider_rate_limited` when no provider was called.
   */
  fetchReply<Answer extends SizedAnswer>(
    reservation: RequestReservation,
    signal: AbortSignal,
    attempt: Attempt<Answer>,
  ): Promise<Answer> {
    const series = new AttemptSeries(reservation, signal, this.ofReplies);
    return series.callCandidates(attempt).then(({ answer, deploymentCall, candidate }) => {
      reservation.markAnswered();
      series.recordCall(deploymentCall, candidate, null);
      deploymentCall.succeed(answer.outputBytes);
      return answer;
    });
  }

  /**
   * Returns the first stream that starts; after that there is no failover. The call lasts until `pipe` ends, so the
   * caller must pipe the stream.
   * @param onLastCandidate called once, when no fallback is left.
   * @throws as `fetchReply`.
   */
  async openStream<Progress extends Delivered>(
    reservation: RequestReservation,
    signal: AbortSignal,
    attempt: Attempt<OpenedStream<Progress>>,
    onLastCandidate: () => void,
  ): Promise<OpenedStream<Progress>> {
    const series = new AttemptSeries(reservation, signal, this.ofStreams);
    const { answer, deploymentCall, candidate } = await series.callCandidates(attempt, onLastCandidate);
    deploymentCall.answered();
    return new ObservedStream(answer, {
      completed: ({ outputBytes, finishReason }) => {
        reservation.markAnswered();
        reservation.steps?.noteFinish(finishReason);
        series.recordCall(deploymentCall, candidate, null);
        series.noteSkippedEvents(deploymentCall, candidate, answer.progress.skippedEvents);
        deploymentCall.succeed(outputBytes);
      },
      broken: (error) => {
        series.recordCall(deploymentCall, candidate, error);
        series.noteSkippedEvents(deploymentCall, candidate, answer.progress.skippedEvents);
        if (error instanceof ProviderError) series.conclude(deploymentCall, candidate, error);
        else deploymentCall.abandon();
      },
    });
  }
}

/** Receives the outcome of a stream. */
interface StreamObserver {
  completed(delivered: Delivered): void;
  broken(error: unknown): void;
}

/** A stream that reports its outcome: interrupted streams count against the deployment's health. */
class ObservedStream<Progress extends Delivered> implements OpenedStream<Progress> {
  constructor(
    private readonly stream: OpenedStream<Progress>,
    private readonly observer: StreamObserver,
  ) {}

  get progress(): Progress {
    return this.stream.progress;
  }

  async pipe(sink: StreamSink): Promise<void> {
    try {
      await this.stream.pipe(sink);
    } catch (error) {
      this.observer.broken(error);
      throw error;
    }
    this.observer.completed(this.stream.progress);
  }
}
