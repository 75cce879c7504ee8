import { Logger } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../core/time/clock';
import type { CatalogModel, DeploymentTimeouts } from '../models/catalog-model';
import type { CallDeadlines, ProviderCall } from '../providers/contract/provider-call';
import { ProviderError } from '../providers/contract/provider-error';
import type { Flight } from '../models/routing/flight';
import type { HealthService } from '../models/routing/health.service';
import { isUnsupported, mayFallBack, mayRetry, needsOtherModel, pauseMs } from './attempt-policy';
import type { Candidate } from './inference.types';
import type { Meter } from './meter';
import { mostUseful, noneAvailable } from './route-failure';

/** One call to one candidate. */
export type Attempt<Answer> = (candidate: Candidate, call: ProviderCall) => Promise<Answer>;

/** The first successful response of a series, with its call, which is still open. */
export interface Answered<Answer> {
  readonly answer: Answer;
  readonly flight: Flight;
  readonly candidate: Candidate;
}

export interface SeriesSettings {
  readonly health: HealthService;
  readonly clock: Clock;
  /** Defaults for calls whose deployment sets none; `totalMs` also limits the whole series. */
  readonly deadlines: CallDeadlines;
  /** Whether `deadlines.firstTokenMs` limits the first token rather than the complete response. */
  readonly streamed: boolean;
  readonly maxAttempts: number;
}

const logger = new Logger('Attempts');

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
    private readonly meter: Meter,
    private readonly signal: AbortSignal,
    private readonly settings: SeriesSettings,
  ) {
    const { routing, atMostOnce } = meter.input;
    this.startedAtMs = settings.clock.monotonic();
    this.timeoutMs = Math.min(routing?.timeout_ms ?? Infinity, settings.deadlines.totalMs);
    this.attemptsLeft = routing?.max_attempts ?? settings.maxAttempts;
    this.atMostOnce = atMostOnce === true;
  }

  /**
   * @param onLastCandidate called once, when no fallback is left.
   * @throws ProviderError the most useful of the failures; GatewayError `no_provider_available` or `provider_rate_limited` when no provider was called.
   */
  async run<Answer>(attempt: Attempt<Answer>, onLastCandidate?: () => void): Promise<Answered<Answer>> {
    const { candidates } = this.meter;
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
  conclude(flight: Flight, { provider }: Candidate, error: ProviderError): void {
    if (this.signal.aborted || provider.simulated === true || this.ranOutOfRequestTime(error)) flight.abandon();
    else flight.fail(error);
  }

  /** Counts and logs the stream events that were skipped because they could not be parsed. */
  noteSkippedEvents({ health }: Flight, { provider, deployment }: Candidate, skippedEvents = 0): void {
    if (skippedEvents === 0) return;
    health.skippedEvents += skippedEvents;
    const { requestId } = this.meter.input.context;
    logger.warn({
      event: 'provider_event_skipped',
      message: 'skipped a provider event that cannot be parsed',
      requestId,
      provider: provider.id,
      deployment: deployment.id,
      skippedEvents,
    });
  }

  /** `null` when the candidate was not admitted, or failed and may not be retried. */
  private async tryCandidate<Answer>(
    candidate: Candidate,
    attempt: Attempt<Answer>,
    isLast: boolean,
  ): Promise<Answered<Answer> | null> {
    const { health, clock } = this.settings;
    for (let retried = false; ; retried = true) {
      const admission = health.begin(candidate.health, candidate.load);
      const flight = admission instanceof Promise ? await admission : admission;
      if (flight === null) return null;
      this.attemptsLeft--;
      this.attemptsMade++;
      try {
        return { answer: await attempt(candidate, this.toCall(candidate)), flight, candidate };
      } catch (error) {
        const failure = this.recordFailure(error, flight, candidate);
        const tookMs = clock.monotonic() - flight.startedAtMs;
        if (retried || this.attemptsLeft === 0 || this.signal.aborted) return null;
        if (!mayRetry(failure, tookMs, isLast, this.atMostOnce)) return null;
        if (!(await this.pause(pauseMs(failure, Math.random)))) return null;
      }
    }
  }

  private toCall(candidate: Candidate): ProviderCall {
    const { requestId } = this.meter.input.context;
    return {
      requestId,
      attempt: this.meter.beginAttempt(candidate),
      publicModel: candidate.model.id,
      upstreamModel: candidate.deployment.upstreamModel,
      features: candidate.features,
      quirks: candidate.quirks,
      deadlines: this.deadlinesOf(candidate),
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
    return this.meter.input.routing?.allow_fallbacks !== false;
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

  /** `false` when the time limit would be exceeded or the request was aborted. */
  private async pause(durationMs: number): Promise<boolean> {
    if (durationMs >= this.timeLeftMs()) return false;
    try {
      await delay(durationMs, undefined, { signal: this.signal });
      return true;
    } catch {
      return false;
    }
  }

  private recordFailure(error: unknown, flight: Flight, candidate: Candidate): ProviderError {
    if (!(error instanceof ProviderError)) {
      flight.abandon();
      throw error;
    }
    this.conclude(flight, candidate, error);
    this.meter.noteFailure(this.signal.aborted ? 'canceled' : error.code);
    this.report(error, flight, candidate);
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
    return mostUseful(this.failures) ?? noneAvailable(this.meter.candidates, this.settings.clock.monotonic());
  }

  private report(error: ProviderError, flight: Flight, { deployment, provider }: Candidate): void {
    // A disconnect is not a provider failure, and an unsupported request was never sent.
    if (this.signal.aborted || isUnsupported(error)) return;
    const { credentialRefused, phase, upstream } = error.options;
    const facts = {
      event: credentialRefused === true ? 'provider_credential_refused' : 'provider_call_failed',
      message: credentialRefused === true ? 'a provider refused our credential' : 'a provider call failed',
      requestId: this.meter.input.context.requestId,
      client_request_id: this.meter.input.context.clientRequestId,
      provider: provider.id,
      deployment: deployment.id,
      attempt: this.attemptsMade,
      code: error.code,
      phase,
      tookMs: Math.round(this.settings.clock.monotonic() - flight.startedAtMs),
      upstream,
    };
    // Only a refused credential needs action by the operator.
    if (credentialRefused === true) logger.error(facts);
    else logger.warn(facts);
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
