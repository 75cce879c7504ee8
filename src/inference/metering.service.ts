import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ReservationService } from '../billing/reservation.service';
import { CLOCK, type Clock } from '../common/clock';
import { GatewayError } from '../common/errors/gateway-error';
import { InFlight } from '../common/in-flight';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import { CandidateSelector } from './candidate-selector';
import type { Candidate, InferenceInput } from './inference.types';
import { Meter } from './meter';
import { applyRouting } from './routing-constraints';

/** A margin over the longest a call may take, after which a hold counts as lost even though its owner lives. */
const HOLD_MARGIN_SECONDS = 120;
/** For requests whose connections a stop has cut: they only have to notice, and to hand their charge to billing. */
const LAST_CHARGES_TIMEOUT_MS = 5_000;

/**
 * Opens the meter of a request: nothing is sent to a provider before its price is held. Every endpoint that answers at
 * once goes through here (`reserve → attempt → settle or release → record`), so that none can forget a step.
 */
@Injectable()
export class MeteringService implements OnApplicationShutdown {
  private readonly attemptSeconds: number;
  private readonly answerSeconds: number;
  private readonly openMeters = new InFlight();

  constructor(
    private readonly selector: CandidateSelector,
    private readonly reservations: ReservationService,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(APP_CONFIG) config: AppConfig,
  ) {
    const { connectTimeoutMs, firstTokenTimeoutMs, replyTimeoutMs, totalTimeoutMs } = config.inference;
    const firstAnswerMs = connectTimeoutMs + Math.max(firstTokenTimeoutMs, replyTimeoutMs);
    this.attemptSeconds = Math.ceil(Math.min(firstAnswerMs, totalTimeoutMs) / 1000);
    this.answerSeconds = Math.ceil(totalTimeoutMs / 1000) + HOLD_MARGIN_SECONDS;
  }

  /**
   * Holds the most that the request may cost on any of its candidates.
   * @throws GatewayError 402 codes, `no_provider_available`, `service_unavailable`.
   */
  async open(input: InferenceInput): Promise<Meter> {
    const candidates = applyRouting(this.selector.select(input.model), input.routing);
    const holdMicro = dearest(candidates, input);
    await this.reservations.reserve({
      reservationId: input.context.id,
      organizationId: input.principal.organizationId,
      keyId: input.principal.keyId,
      amountMicro: holdMicro,
      ttlSeconds: this.answerSeconds + this.attemptSeconds * (candidates.length - 1),
    });
    this.openMeters.begin();
    return new Meter(input, candidates, holdMicro, this.reservations, this.clock, this.openMeters);
  }

  /** Runs after the HTTP server has closed and before billing, which takes no charges any more after that. */
  async onApplicationShutdown(): Promise<void> {
    await this.openMeters.whenIdle(LAST_CHARGES_TIMEOUT_MS);
  }
}

function dearest(candidates: readonly Candidate[], input: InferenceInput): bigint {
  let most = 0n;
  for (const { price } of candidates) {
    const cost = price.costMicro(input.estimate);
    // A price that says nothing about what is asked is no price (decision *unpriced*).
    if (cost === null) throw new GatewayError('model_not_found', `${input.model.id} has no price for this request.`);
    if (cost > most) most = cost;
  }
  return most;
}
