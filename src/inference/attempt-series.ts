import { Logger } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../common/clock';
import type { CallDeadlines, ProviderCall } from '../providers/contract/provider-call';
import { ProviderError } from '../providers/contract/provider-error';
import type { Flight } from '../routing/flight';
import type { HealthService } from '../routing/health.service';
import { isUnsupported, mayFallBack, mayRetry, pauseMs } from './attempt-policy';
import type { Candidate } from './inference.types';
import type { Meter } from './meter';
import { mostUseful, noneAvailable } from './route-failure';

/** Asks one candidate once. */
export type Attempt<Answer> = (candidate: Candidate, call: ProviderCall) => Promise<Answer>;

/** The first answer of a series, and the call that it came from, which has not ended yet. */
export interface Answered<Answer> {
  readonly answer: Answer;
  readonly flight: Flight;
  readonly candidate: Candidate;
}

export interface SeriesSettings {
  readonly health: HealthService;
  readonly clock: Clock;
  /** Of one call; `totalMs` is that of the series too. */
  readonly deadlines: CallDeadlines;
  readonly maxAttempts: number;
}

const logger = new Logger('Attempts');

/** The attempts of one request, one after the other, until one answers or no further one is allowed. */
export class AttemptSeries {
  private readonly startedAtMs: number;
  private readonly timeoutMs: number;
  private readonly atMostOnce: boolean;
  private attemptsLeft: number;
  private attemptsMade = 0;
  private readonly failures: ProviderError[] = [];
  /** A failure after which nobody may be asked any more. */
  private lastWord: ProviderError | null = null;

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
   * @param onLastCandidate told, once, when nobody is left to fall back to.
   * @throws ProviderError the most useful of the failures; GatewayError `no_provider_available` or `provider_rate_limited` when nobody was asked.
   */
  async run<Answer>(attempt: Attempt<Answer>, onLastCandidate?: () => void): Promise<Answered<Answer>> {
    const { candidates } = this.meter;
    let announce = onLastCandidate;
    for (let index = 0; index < candidates.length && this.mayGoOn(); index++) {
      const candidate = candidates[index] as Candidate;
      if (index > 0 && !(await this.restBefore(candidate, candidates[index - 1]))) continue;
      const isLast = index === candidates.length - 1 || this.attemptsLeft === 1 || !this.mayLeaveFirst;
      if (isLast) {
        announce?.();
        announce = undefined;
      }
      const answered = await this.ask(candidate, attempt, isLast);
      if (answered !== null) return answered;
    }
    throw this.verdict();
  }

  /** Ends a call that has failed, and lets its deployment's health know if that is its fault. */
  conclude(flight: Flight, { provider }: Candidate, error: ProviderError): void {
    if (this.signal.aborted || provider.simulated === true || this.wasCutShort(error)) flight.abandon();
    else flight.fail(error);
  }

  /** `null`: it could not be asked, or has failed for good. */
  private async ask<Answer>(
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
        const failure = this.note(error, flight, candidate);
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
      deadlines: this.deadlines(),
      signal: this.signal,
    };
  }

  private deadlines(): CallDeadlines {
    const { deadlines } = this.settings;
    if (this.attemptsMade === 1 && this.timeoutMs === deadlines.totalMs) return deadlines;
    return { ...deadlines, totalMs: Math.max(1, this.timeLeftMs()) };
  }

  private timeLeftMs(): number {
    return this.timeoutMs - (this.settings.clock.monotonic() - this.startedAtMs);
  }

  private get mayLeaveFirst(): boolean {
    return this.meter.input.routing?.allow_fallbacks !== false;
  }

  private mayGoOn(): boolean {
    if (this.lastWord !== null || this.attemptsLeft === 0) return false;
    if (this.failures.length === 0) return true;
    return this.mayLeaveFirst && !this.signal.aborted && this.timeLeftMs() > 0;
  }

  /** A provider that has just failed to serve gets a moment before its next deployment is asked. */
  private restBefore(next: Candidate, previous: Candidate | undefined): Promise<boolean> | true {
    const failure = this.failures.at(-1);
    if (failure?.code !== 'provider_unavailable' || next.provider !== previous?.provider) return true;
    return this.pause(pauseMs(failure, Math.random));
  }

  /** `false`: there is no time for it, or nobody waits any more. */
  private async pause(durationMs: number): Promise<boolean> {
    if (durationMs >= this.timeLeftMs()) return false;
    try {
      await delay(durationMs, undefined, { signal: this.signal });
      return true;
    } catch {
      return false;
    }
  }

  private note(error: unknown, flight: Flight, candidate: Candidate): ProviderError {
    if (!(error instanceof ProviderError)) {
      flight.abandon();
      throw error;
    }
    this.conclude(flight, candidate, error);
    this.meter.noteFailure(this.signal.aborted ? 'canceled' : error.code);
    this.report(error, flight, candidate);
    this.failures.push(error);
    if (!mayFallBack(error, this.atMostOnce)) this.lastWord = error;
    return error;
  }

  /** Whether the request gave a deployment less time than the operator gives it, or had stopped listening. */
  private wasCutShort({ options }: ProviderError): boolean {
    if (this.timeLeftMs() > 0) return false;
    return options.phase === 'stream' || this.attemptsMade > 1 || this.timeoutMs < this.settings.deadlines.totalMs;
  }

  private verdict(): Error {
    if (this.lastWord !== null) return this.lastWord;
    if (this.failures.length > 0 && this.timeLeftMs() <= 0) {
      const options = { phase: 'headers', fallback: false, cause: this.failures.at(-1) } as const;
      return new ProviderError('provider_timeout', 'No provider answered within the time of the request.', options);
    }
    return mostUseful(this.failures) ?? noneAvailable(this.meter.candidates, this.settings.clock.monotonic());
  }

  private report(error: ProviderError, flight: Flight, { deployment, provider }: Candidate): void {
    // A client that left has not met a failure, and nothing was sent for what the deployment does not offer.
    if (this.signal.aborted || isUnsupported(error)) return;
    const { credentialRefused, phase, upstream } = error.options;
    const facts = {
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
    // The operator must act on a refused credential; everything else is weather.
    if (credentialRefused === true) logger.error(facts);
    else logger.warn(facts);
  }
}
