import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '../common/clock';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import { ProviderError } from '../providers/contract/provider-error';
import { HealthService } from '../routing/health.service';
import { type Attempt, AttemptSeries, type SeriesSettings } from './attempt-series';
import type { Delivered, OpenedStream, SizedAnswer } from './inference.types';
import type { Meter } from './meter';
import { ObservedStream } from './observed-stream';

/**
 * Asks the candidates of a request in order, until one answers or nobody may be asked any more (src/routing/README.md).
 * Each call is a flight of `routing`, which learns from how it ends.
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
    this.ofStreams = { health, clock, maxAttempts, deadlines };
    // Before a whole answer there is nothing to hear, however long the model thinks.
    this.ofReplies = { ...this.ofStreams, deadlines: { ...deadlines, firstTokenMs: replyTimeoutMs } };
  }

  /**
   * A whole answer.
   * @throws ProviderError the most useful of the failures; GatewayError `no_provider_available` or `provider_rate_limited` when nobody was asked.
   */
  async run<Answer extends SizedAnswer>(meter: Meter, signal: AbortSignal, attempt: Attempt<Answer>): Promise<Answer> {
    const { answer, flight } = await new AttemptSeries(meter, signal, this.ofReplies).run(attempt);
    flight.succeed(answer.outputBytes);
    return answer;
  }

  /**
   * A stream that has begun; from here on there is no other candidate. Its call lasts until `pipe` has ended, so that
   * whoever opens one must pipe it.
   * @param onLastCandidate told, once, when nobody is left to fall back to.
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
      completed: ({ outputBytes }) => flight.succeed(outputBytes),
      broken: (error) => {
        if (error instanceof ProviderError) series.conclude(flight, candidate, error);
        else flight.abandon();
      },
    });
  }
}
