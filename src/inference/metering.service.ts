import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ReservationService } from '../billing/reservation.service';
import { CLOCK, type Clock } from '../common/clock';
import { GatewayError } from '../common/errors/gateway-error';
import type { IdempotencyClaim } from '../common/idempotency';
import { InFlight } from '../common/in-flight';
import type { Micro } from '../common/micro';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import { LimiterService, type LimitLease } from '../limits/limiter.service';
import { tokensOf } from '../providers/contract/usage';
import { estimating } from '../billing/price';
import type { Candidate, InferenceInput } from './inference.types';
import { Meter } from './meter';
import { RoutePlanner } from './route-planner';
import { TokenRatios } from './token-ratio.service';

/** A margin over the time of all calls of a request, after which a hold counts as lost even though its owner lives. */
const HOLD_MARGIN_SECONDS = 120;
/** For requests whose connections a stop has cut: they only have to notice, and to hand their charge to billing. */
const LAST_CHARGES_TIMEOUT_MS = 5_000;

/**
 * Opens the meter of a request: nothing is sent to a provider before its price is held. Every endpoint that answers at
 * once goes through here (`reserve → attempt → settle or release → record`), so that none can forget a step.
 */
@Injectable()
export class MeteringService implements OnApplicationShutdown {
  private readonly answerSeconds: number;
  private readonly openMeters = new InFlight();

  constructor(
    private readonly planner: RoutePlanner,
    private readonly limiter: LimiterService,
    private readonly reservations: ReservationService,
    private readonly ratios: TokenRatios,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(APP_CONFIG) config: AppConfig,
  ) {
    this.answerSeconds = Math.ceil(config.inference.totalTimeoutMs / 1000) + HOLD_MARGIN_SECONDS;
  }

  /**
   * Holds the most that the request may cost on any of its candidates, and claims its idempotency key with that.
   * @throws KeyClaimedError when `claim` came too late; GatewayError 402 and 429 codes, `no_provider_available`,
   * `service_unavailable`.
   */
  async open(input: InferenceInput, claim: IdempotencyClaim | null): Promise<Meter> {
    const candidates = this.planner.plan(input);
    const holdMicro = dearest(candidates, input);
    const lease = await this.limiter.admit({
      context: input.context,
      principal: input.principal,
      model: input.model,
      fallbacks: input.fallbacks,
      tokens: tokensOf(input.estimate),
    });
    await this.hold(input, holdMicro, lease, claim);
    this.openMeters.begin();
    return new Meter(input, candidates, holdMicro, lease, this.reservations, this.clock, this.openMeters, this.ratios);
  }

  private async hold(
    input: InferenceInput,
    amountMicro: Micro,
    lease: LimitLease,
    claim: IdempotencyClaim | null,
  ): Promise<void> {
    try {
      await this.reservations.reserve({
        reservationId: input.context.id,
        organizationId: input.principal.organizationId,
        keyId: input.principal.keyId,
        amountMicro,
        ttlSeconds: this.answerSeconds,
        claim,
      });
    } catch (error) {
      lease.release(0);
      throw error;
    }
  }

  /** Resolves with `true` once every request that was admitted has ended, with `false` after `timeoutMs`. */
  whenIdle(timeoutMs: number): Promise<boolean> {
    return this.openMeters.whenIdle(timeoutMs);
  }

  /** Runs after the HTTP server has closed and before billing, which takes no charges any more after that. */
  async onApplicationShutdown(): Promise<void> {
    await this.whenIdle(LAST_CHARGES_TIMEOUT_MS);
  }
}

/**
 * What is held: the cost at the dearest of the candidates (decision *hold-text*).
 * @throws GatewayError `model_not_found` where one has no price for what is asked
 */
export function dearest(candidates: readonly Candidate[], input: InferenceInput): Micro {
  const details = estimating(input.pricedBy);
  let most = 0n;
  for (const { price } of candidates) {
    const cost = price.costMicro(input.estimate, details);
    // A price that says nothing about what is asked is no price (decision *unpriced*).
    if (cost === null) throw new GatewayError('model_not_found', `${input.model.id} has no price for this request.`);
    if (cost > most) most = cost;
  }
  return most;
}
