import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ReservationService } from '../billing/ledger/reservation.service';
import { CLOCK, type Clock } from '../core/time/clock';
import { GatewayError } from '../core/errors/gateway-error';
import type { IdempotencyClaim } from '../core/types/idempotency';
import { InFlight } from '../core/concurrency/in-flight';
import type { Micro } from '../core/types/micro';
import { APP_CONFIG, type AppConfig } from '../core/config/app-config';
import { LimiterService, type LimitLease } from '../auth/rate-limits/limiter.service';
import { tokensOf } from '../providers/contract/usage';
import { estimating } from '../billing/pricing/price';
import type { Candidate, InferenceInput } from './inference.types';
import { RequestReservation } from './request-reservation';
import { RoutePlanner } from './route-planner';
import { TokenRatios } from './token-ratio.service';

/** Added to the total time limit of a request; afterwards its hold expires even if its process is alive. */
const HOLD_MARGIN_SECONDS = 120;
/** Time for requests whose connections were closed by a shutdown to hand their charges to billing. */
const LAST_CHARGES_TIMEOUT_MS = 5_000;

/**
 * Admits a request: the cost is held before anything is sent to a provider. Every synchronous endpoint goes through here
 * (`reserve → attempt → settle or release → record`), so that none can skip a step.
 */
@Injectable()
export class RequestAdmission implements OnApplicationShutdown {
  private readonly answerSeconds: number;
  private readonly openReservations = new InFlight();

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
   * Holds the worst-case cost over the candidates and claims the idempotency key in the same step.
   * @throws KeyClaimedError when another request holds the key; GatewayError 402 and 429 codes, `no_provider_available`,
   * `service_unavailable`.
   */
  async admit(input: InferenceInput, claim: IdempotencyClaim | null): Promise<RequestReservation> {
    const candidates = this.planner.plan(input);
    const holdMicro = worstCaseCost(candidates, input);
    const lease = await this.limiter.admit({
      context: input.context,
      principal: input.principal,
      model: input.model,
      fallbacks: input.fallbacks,
      tokens: tokensOf(input.estimate),
    });
    await this.hold(input, holdMicro, lease, claim);
    this.openReservations.begin();
    return new RequestReservation(
      input,
      candidates,
      holdMicro,
      lease,
      this.reservations,
      this.clock,
      this.openReservations,
      this.ratios,
    );
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

  /** Resolves with `true` once every admitted request has ended, with `false` after `timeoutMs`. */
  whenIdle(timeoutMs: number): Promise<boolean> {
    return this.openReservations.whenIdle(timeoutMs);
  }

  /** Runs after the HTTP server has closed and before billing stops accepting charges. */
  async onApplicationShutdown(): Promise<void> {
    await this.whenIdle(LAST_CHARGES_TIMEOUT_MS);
  }
}

/**
 * The amount to hold: the highest cost over the candidates (decision *hold-text*).
 * @throws GatewayError `model_not_found` when a candidate has no price for the request
 */
export function worstCaseCost(candidates: readonly Candidate[], input: InferenceInput): Micro {
  const details = estimating(input.pricedBy);
  let most = 0n;
  for (const { price } of candidates) {
    const cost = price.costMicro(input.estimate, details);
    // A price without a matching row is no price (decision *unpriced*).
    if (cost === null) throw new GatewayError('model_not_found', `${input.model.id} has no price for this request.`);
    if (cost > most) most = cost;
  }
  return most;
}
