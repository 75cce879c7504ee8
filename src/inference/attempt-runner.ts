import { Inject, Injectable, Logger } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import type { CallDeadlines, ProviderCall } from '../providers/contract/provider-call';
import { ProviderError } from '../providers/contract/provider-error';
import type { Candidate } from './inference.types';
import type { Meter } from './meter';

/** Asks the candidates of a request in order, until one answers or a failure forbids asking the next. */
@Injectable()
export class AttemptRunner {
  private readonly logger = new Logger(AttemptRunner.name);
  private readonly streamDeadlines: CallDeadlines;
  private readonly replyDeadlines: CallDeadlines;

  constructor(@Inject(APP_CONFIG) config: AppConfig) {
    const { connectTimeoutMs, firstTokenTimeoutMs, replyTimeoutMs, idleTimeoutMs, totalTimeoutMs } = config.inference;
    this.streamDeadlines = {
      connectMs: connectTimeoutMs,
      firstTokenMs: firstTokenTimeoutMs,
      idleMs: idleTimeoutMs,
      totalMs: totalTimeoutMs,
    };
    // Before a whole answer there is nothing to hear, however long the model thinks.
    this.replyDeadlines = { ...this.streamDeadlines, firstTokenMs: replyTimeoutMs };
  }

  /**
   * @param onLastCandidate told when nobody is left to fall back to.
   * @throws ProviderError of the last attempt.
   */
  async run<Result>(
    meter: Meter,
    signal: AbortSignal,
    attempt: (candidate: Candidate, call: ProviderCall) => Promise<Result>,
    onLastCandidate?: () => void,
  ): Promise<Result> {
    const { candidates } = meter;
    for (let index = 0; ; index++) {
      const candidate = candidates[index] as Candidate;
      const isLast = index === candidates.length - 1;
      if (isLast) onLastCandidate?.();
      try {
        return await attempt(candidate, this.toCall(meter, candidate, signal));
      } catch (error) {
        this.report(error, candidate, meter);
        const mayFallBack = error instanceof ProviderError && error.options.fallback;
        if (isLast || !mayFallBack || signal.aborted) throw error;
      }
    }
  }

  private toCall(meter: Meter, candidate: Candidate, signal: AbortSignal): ProviderCall {
    const { context, model, streamed } = meter.input;
    return {
      requestId: context.requestId,
      attempt: meter.beginAttempt(candidate),
      publicModel: model.id,
      upstreamModel: candidate.deployment.upstreamModel,
      features: candidate.features,
      quirks: candidate.quirks,
      deadlines: streamed ? this.streamDeadlines : this.replyDeadlines,
      signal,
    };
  }

  private report(error: unknown, candidate: Candidate, meter: Meter): void {
    if (!(error instanceof ProviderError)) return;
    const facts = {
      message:
        error.options.credentialRefused === true ? 'a provider refused our credential' : 'a provider call failed',
      requestId: meter.input.context.requestId,
      client_request_id: meter.input.context.clientRequestId,
      deployment: candidate.deployment.id,
      code: error.code,
      phase: error.options.phase,
      upstream: error.options.upstream,
    };
    // The operator must act on a refused credential; everything else is weather.
    if (error.options.credentialRefused === true) this.logger.error(facts);
    else this.logger.warn(facts);
  }
}
