import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '../core/time/clock';
import { APP_CONFIG, type AppConfig } from '../core/config/app-config';
import { ProviderError } from '../providers/contract/provider-error';
import { HealthService } from '../models/routing/health.service';
import { type Attempt, AttemptSeries, type SeriesSettings } from './attempt-series';
import type { Delivered, OpenedStream, SizedAnswer } from './inference.types';
import type { Meter } from './meter';
import { ObservedStream } from './observed-stream';

/**
 * Calls the candidates of a request in order until one succeeds or no further attempt is allowed
 * (src/models/routing/README.md). `routing` observes the outcome of each call.
 */
@Injectable()
export class AttemptRunner {
  private readonly ofStreams: SeriesSettings;
  private readonly ofReplies: SeriesSettings;

  constructor(health: HealthService, @Inject(CLOCK) clock: Clock, @Inject(APP_CONFIG) config: AppConfig) {
    const { connectTimeoutMs, firstTokenTimeoutMs, replyTimeoutMs, idleTimeoutMs, totalTimeoutMs } = config.inference;
    const { maxAttempts } = config.routing;
    const deadlines = {
      connectMs: connectTimeoutMs,
      firstTokenMs: firstTokenTimeoutMs,
      idleMs: idleTimeoutMs,
      totalMs: totalTimeoutMs,
    };
    this.ofStreams = { health, clock, maxAttempts, deadlines, streamed: true };
    // A non-streamed response sends no bytes while the model thinks.
    this.ofReplies = { ...this.ofStreams, streamed: false, deadlines: { ...deadlines, firstTokenMs: replyTimeoutMs } };
  }

  /**
   * Runs the attempts of a non-streamed response.
   * @throws ProviderError the most useful of the failures; GatewayError `no_provider_available` or `provider_rate_limited` when no provider was called.
   */
  async run<Answer extends SizedAnswer>(meter: Meter, signal: AbortSignal, attempt: Attempt<Answer>): Promise<Answer> {
    const { answer, flight } = await new AttemptSeries(meter, signal, this.ofReplies).run(attempt);
    flight.succeed(answer.outputBytes);
    return answer;
  }

  /**
   * Returns the first stream that starts; after that there is no failover. The call lasts until `pipe` ends, so the
   * caller must pipe the stream.
   * @param onLastCandidate called once, when no fallback is left.
   * @throws as `run`.
   */
  async open<Progress extends Delivered>(
    meter: Meter,
    signal: AbortSignal,
    attempt: Attempt<OpenedStream<Progress>>,
    onLastCandidate: () => void,
  ): Promise<OpenedStream<Progress>> {
    const series = new AttemptSeries(meter, signal, this.ofStreams);
    const { answer, flight, candidate } = await series.run(attempt, onLastCandidate);
    flight.answered();
    return new ObservedStream(answer, {
      completed: ({ outputBytes }) => {
        series.noteSkippedEvents(flight, candidate, answer.progress.skippedEvents);
        flight.succeed(outputBytes);
      },
      broken: (error) => {
        series.noteSkippedEvents(flight, candidate, answer.progress.skippedEvents);
        if (error instanceof ProviderError) series.conclude(flight, candidate, error);
        else flight.abandon();
      },
    });
  }
}
