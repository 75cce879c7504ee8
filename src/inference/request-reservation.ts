import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { LimiterService, type LimitLease } from '../auth/rate-limits/limiter.service';
import type { AttemptNote, FinishCommand, FinishResult, StoreAnswer, UsageRecord } from '../billing/ledger/money.types';
import { ReservationService } from '../billing/ledger/reservation.service';
import { estimating, type PricedDetails, sanitizeUsage } from '../billing/pricing/price';
import { differsFromList } from '../billing/pricing/vendor-bill';
import { InFlight } from '../core/concurrency/in-flight';
import { APP_CONFIG, type AppConfig } from '../core/config/app-config';
import type { ErrorCode } from '../core/errors/catalog';
import { GatewayError } from '../core/errors/gateway-error';
import { type Clock, CLOCK } from '../core/time/clock';
import type { IdempotencyClaim, IdempotencyCompletion } from '../core/types/idempotency';
import { type Micro, microToJson } from '../core/types/micro';
import { inStep } from '../core/types/trace';
import type { CatalogModel } from '../models/catalog-model';
import {
  inputTokensOf,
  NO_USAGE,
  outputTokensOf,
  tokensOf,
  type UsageVector,
  vendorBillOf,
  withoutVendorBill,
} from '../providers/contract/usage';
import type { Bill, Candidate, InferenceInput, UsageEstimator } from './inference.types';
import { asGatewayError } from './provider-failure';
import { RequestMetrics } from './request-metrics';
import { holdFacts, LIMITS_FACTS, RequestSteps } from './request-steps';
import { RoutePlanner, worstCaseCost } from './route-planner';
import { fitsModel, TokenRatios, withReported } from './token-estimate';

const logger = new Logger('RequestReservation');

/** How a request ended, for its record. */
export interface Ending {
  readonly status: number;
  readonly errorCode: ErrorCode | null;
}

const ANSWERED: Ending = { status: 200, errorCode: null };
/** Recorded when the client disconnected before the response was complete. */
const CLIENT_CLOSED_REQUEST = 499;

/** The ending of a request that failed or whose client disconnected. */
export function endingOf(error: unknown, clientDisconnected: boolean): Ending {
  if (clientDisconnected) return { status: CLIENT_CLOSED_REQUEST, errorCode: null };
  const { status, code } = asGatewayError(error);
  return { status, errorCode: code };
}

/** A request whose hold is committed. */
interface AdmittedRequest {
  readonly input: InferenceInput;
  readonly candidates: readonly Candidate[];
  readonly holdMicro: Micro;
  readonly lease: LimitLease;
  /** `null`: the request is not traced. */
  readonly steps: RequestSteps | null;
}

/** What the reservations of all requests share. */
interface ReservationServices {
  readonly reservations: ReservationService;
  readonly ratios: TokenRatios;
  readonly metrics: RequestMetrics;
  readonly clock: Clock;
  readonly open: InFlight;
}

/**
 * One request's hold, from admission to exactly one ending: `settle` or `release`. The record of the request is written
 * in the same transaction.
 */
export class RequestReservation {
  /** The candidate called last; its price applies. */
  private candidate: Candidate | null = null;
  private attempts = 0;
  private attemptBeganMs = 0;
  /** Created with the first failure: most requests have none. */
  private attemptLog: AttemptNote[] | null = null;
  private firstTokenMs: number | null = null;
  /** From the arrival to the first provider call, and to the last byte of the answer, in milliseconds. */
  private calledMs: number | null = null;
  private answeredMs: number | null = null;
  private ended = false;
  readonly input: InferenceInput;
  readonly candidates: readonly Candidate[];
  readonly holdMicro: Micro;
  readonly steps: RequestSteps | null;
  private readonly lease: LimitLease;
  private readonly clock: Clock;

  constructor(
    { input, candidates, holdMicro, lease, steps }: AdmittedRequest,
    private readonly services: ReservationServices,
  ) {
    this.input = input;
    this.candidates = candidates;
    this.holdMicro = holdMicro;
    this.lease = lease;
    this.steps = steps;
    this.clock = services.clock;
  }

  /** Milliseconds since the request arrived. */
  get elapsedMs(): number {
    return this.clock.monotonic() - this.input.context.startedAtMs;
  }

  /** Records an attempt; returns its number, counted from 1. */
  beginAttempt(candidate: Candidate): number {
    this.candidate = candidate;
    this.attemptBeganMs = this.clock.monotonic();
    this.steps?.beginAttempt(candidate, this.attempts + 1, this.attemptBeganMs);
    this.calledMs ??= this.attemptBeganMs - this.input.context.startedAtMs;
    return ++this.attempts;
  }

  /** Records the outcome of the current attempt when it fails. */
  noteFailure(outcome: ErrorCode | 'canceled'): void {
    this.steps?.endAttempt(this.clock.monotonic(), outcome);
    this.attemptLog = [...(this.attemptLog ?? []), ...this.currentAttempt(outcome)];
  }

  private currentAttempt(outcome: string): AttemptNote[] {
    if (this.candidate === null) return [];
    const { provider, deployment } = this.candidate;
    const startedMs = Math.round(this.attemptBeganMs - this.input.context.startedAtMs);
    const tookMs = Math.round(this.clock.monotonic() - this.attemptBeganMs);
    return [{ provider: provider.id, deployment: deployment.id, outcome, started_ms: startedMs, duration_ms: tookMs }];
  }

  /** The model of the last attempt, or the requested model before the first. */
  get servedModel(): CatalogModel {
    return this.candidate?.model ?? this.input.model;
  }

  markFirstToken(): void {
    this.firstTokenMs ??= Math.round(this.elapsedMs);
  }

  /** The last byte of the answer has arrived; what follows is the gateway's own work. */
  markAnswered(): void {
    this.answeredMs = this.elapsedMs;
    this.steps?.markAnswered(this.clock.monotonic());
  }

  /**
   * Prices the usage of an answer: as reported, which also calibrates the token ratio, else as estimated. A report of
   * zero tokens where some must have been used counts as missing.
   * @param reported `null` when the provider reported none or an incomplete usage
   */
  bill(reported: UsageVector | null, outputBytes: number, estimator: UsageEstimator): Bill {
    const usageEstimated = reported === null || this.lacksTokens(reported, outputBytes);
    const claimed = usageEstimated
      ? withReported(estimator.estimateUsage(outputBytes, this.servedModel), reported)
      : reported;
    const usage = sanitizeUsage(claimed);
    const { prompt } = this.input;
    if (prompt !== undefined && !usageEstimated) this.services.ratios.observe(this.servedModel, prompt, usage);
    return { usage, usageEstimated, costMicro: this.costOf(usage, usage === claimed, usageEstimated) };
  }

  /** Whether a report for text or embeddings has zero tokens on a side where the estimate has some. */
  private lacksTokens(reported: UsageVector, outputBytes: number): boolean {
    const { prompt, estimate } = this.input;
    if (prompt === undefined || outputBytes === 0 || this.candidate?.price.isBilledBy(reported)) return false;
    return (
      (inputTokensOf(reported) === 0 && inputTokensOf(estimate) > 0) ||
      (outputTokensOf(reported) === 0 && outputTokensOf(estimate) > 0)
    );
  }

  /**
   * Charges a bill and records it. Resolves with the committed charge: only then may the end of the response be sent.
   * The same transaction completes a claimed idempotency key with the copy that `storeAnswer` stored before; without a
   * copy, it frees the key.
   * @throws GatewayError `service_unavailable` when the charge cannot be committed or the hold has expired.
   */
  settle(
    { usage, usageEstimated, costMicro }: Bill,
    ending: Ending = ANSWERED,
    storeAnswer: StoreAnswer | null = null,
  ): Promise<Micro> {
    const ended = this.end('settled', costMicro, this.record(ending, usage, usageEstimated), storeAnswer);
    return ended.then(({ applied, chargedMicro }) => {
      if (applied) return chargedMicro;
      throw new GatewayError('service_unavailable', 'The request took too long and its reservation expired.');
    });
  }

  /** Prices the usage as reported; for implausible usage and for a vendor's bill the cost is capped at the hold. */
  private costOf(usage: UsageVector, sane: boolean, usageEstimated: boolean): Micro {
    const { pricedBy } = this.input;
    const details = usageEstimated ? estimating(pricedBy) : pricedBy;
    const pricedMicro = this.candidate?.price.costMicro(usage, details) ?? this.holdMicro;
    const isBilled = !usageEstimated && this.candidate?.price.isBilledBy(usage) === true;
    if (isBilled) this.noteBill(usage, details, pricedMicro);
    const cost = isBilled && pricedMicro > this.holdMicro ? this.holdMicro : pricedMicro;
    if (sane && fitsModel(usage, this.servedModel, this.input.promptCount)) return cost;
    if (this.candidate !== null) this.services.metrics.recordImplausibleUsage(this.candidate.provider.id);
    logger.error({
      event: 'provider_usage_implausible',
      message: 'a provider reported implausible usage',
      request_id: this.input.context.requestId,
      deployment: this.candidate?.deployment.id,
    });
    return cost < this.holdMicro ? cost : this.holdMicro;
  }

  /** Warns about a vendor's bill that differs from the catalogue's price. */
  private noteBill(usage: UsageVector, details: PricedDetails | undefined, billedMicro: Micro): void {
    const listedMicro = this.candidate?.price.costMicro(withoutVendorBill(usage), details) ?? this.holdMicro;
    if (!differsFromList(billedMicro, listedMicro)) return;
    logger.warn({
      event: 'vendor_bill_differs',
      message: "a vendor's bill differs from the catalogue's price",
      request_id: this.input.context.requestId,
      model: this.servedModel.id,
      deployment: this.candidate?.deployment.id,
      billed_micro: microToJson(billedMicro),
      listed_micro: microToJson(listedMicro),
      hold_micro: microToJson(this.holdMicro),
      bill: vendorBillOf(usage),
    });
  }

  /**
   * Releases the hold without a charge: nothing was delivered. Frees the idempotency key, or stores `completion` under
   * it. Does nothing once the request is settled or released.
   */
  async release(ending: Ending, completion: IdempotencyCompletion | null = null): Promise<void> {
    if (this.ended) return;
    await this.end('released', 0n, this.record(ending, NO_USAGE, false), null, completion);
  }

  /** Hands the ending to billing, which commits it and retries if necessary. */
  private end(
    outcome: 'settled' | 'released',
    actualMicro: Micro,
    record: UsageRecord,
    storeAnswer: StoreAnswer | null,
    completion: IdempotencyCompletion | null = null,
  ): Promise<FinishResult> {
    this.ended = true;
    const settleBeganMs = this.clock.monotonic();
    const command: FinishCommand = {
      reservationId: this.input.context.id,
      organizationId: this.input.principal.organizationId,
      outcome,
      actualMicro,
      record,
      completion,
      // The client did not get the end of an all-or-nothing response. A released hold has no charge, only a completion.
      releaseOnTimeout: outcome === 'settled' && (!this.input.streamed || this.input.allOrNothing === true),
    };
    const { reservations, open } = this.services;
    const ending =
      storeAnswer === null ? reservations.finish(command) : reservations.finishStored(command, storeAnswer);
    this.lease.release(tokensOf(record.usage));
    open.end();
    this.input.context.isRecorded = true;
    return ending.then(
      (result) => {
        this.report(record, result, settleBeganMs);
        return result;
      },
      (error: unknown) => {
        this.report(record, null, settleBeganMs);
        throw error;
      },
    );
  }

  private report(record: UsageRecord, result: FinishResult | null, settleBeganMs: number): void {
    const totalMs = this.elapsedMs;
    this.steps?.end(record, result, this.holdMicro, settleBeganMs, this.clock.monotonic());
    this.services.metrics.recordEnd({
      record,
      result,
      candidates: this.candidates,
      served: this.candidate,
      servedModel: this.servedModel,
      totalMs,
      admitMs: this.calledMs,
      finishMs: this.answeredMs === null ? null : totalMs - this.answeredMs,
      context: this.input.context,
    });
  }

  private record(ending: Ending, usage: UsageVector, usageEstimated: boolean): UsageRecord {
    const { context, principal, operation, streamed } = this.input;
    return {
      id: context.id,
      organizationId: principal.organizationId,
      keyId: principal.keyId,
      operation,
      model: this.servedModel.id,
      provider: this.candidate?.provider.id ?? null,
      deploymentId: this.candidate?.deployment.id ?? null,
      priceVersionId: this.candidate?.priceVersion.id ?? null,
      status: ending.status,
      errorCode: ending.errorCode,
      streamed,
      usage,
      usageEstimated,
      attempts: this.attempts,
      attemptLog: this.fullAttemptLog(ending),
      pricedBy: this.input.pricedBy ?? null,
      firstTokenMs: this.firstTokenMs,
      totalMs: Math.round(this.elapsedMs),
    };
  }

  /** The attempt log with the final attempt, which succeeded or was interrupted while streaming. */
  private fullAttemptLog({ status, errorCode }: Ending): readonly AttemptNote[] | null {
    if (this.attemptLog === null || this.attemptLog.length === this.attempts) return this.attemptLog;
    const outcome = errorCode ?? (status === ANSWERED.status ? 'success' : 'canceled');
    return [...this.attemptLog, ...this.currentAttempt(outcome)];
  }
}

/** Added to the total time limit of a request; afterwards its hold expires even if its process is alive. */
const HOLD_MARGIN_SECONDS = 120;
/** How long requests whose connections a shutdown has closed may take to hand their charges to billing. */
const LAST_CHARGES_TIMEOUT_MS = 5_000;

/**
 * Admits a request: the cost is held before anything is sent to a provider. Every synchronous endpoint goes through
 * here (`reserve → attempt → settle or release → record`), so that none can skip a step.
 */
@Injectable()
export class RequestAdmission implements OnApplicationShutdown {
  private readonly answerSeconds: number;
  private readonly traces: AppConfig['traces'];
  private readonly services: ReservationServices;

  constructor(
    private readonly planner: RoutePlanner,
    private readonly limiter: LimiterService,
    reservations: ReservationService,
    ratios: TokenRatios,
    metrics: RequestMetrics,
    @Inject(CLOCK) clock: Clock,
    @Inject(APP_CONFIG) config: AppConfig,
  ) {
    this.services = { reservations, ratios, metrics, clock, open: new InFlight() };
    this.traces = config.traces;
    this.answerSeconds = Math.ceil(config.inference.totalTimeoutMs / 1000) + HOLD_MARGIN_SECONDS;
  }

  /**
   * Holds the worst-case cost over the candidates and claims the idempotency key in the same step.
   * @throws KeyClaimedError when another request holds the key; GatewayError 402 and 429 codes,
   * `no_provider_available`, `service_unavailable`.
   */
  async admit(input: InferenceInput, claim: IdempotencyClaim | null): Promise<RequestReservation> {
    const candidates = this.planner.plan(input);
    const holdMicro = worstCaseCost(candidates, input);
    const steps = RequestSteps.of(input, this.traces);
    const { context, principal, model, fallbacks } = input;
    const limited = { context, principal, model, fallbacks, tokens: tokensOf(input.estimate) };
    const lease = await inStep(context.trace, 'limits', () => this.limiter.admit(limited), LIMITS_FACTS);
    try {
      const hold = {
        reservationId: context.id,
        organizationId: principal.organizationId,
        keyId: principal.keyId,
        amountMicro: holdMicro,
        ttlSeconds: this.answerSeconds,
        claim,
      };
      await inStep(context.trace, 'hold', () => this.services.reservations.reserve(hold), holdFacts(holdMicro));
    } catch (error) {
      lease.release(0);
      throw error;
    }
    steps?.hold();
    this.services.open.begin();
    return new RequestReservation({ input, candidates, holdMicro, lease, steps }, this.services);
  }

  /** Resolves with `true` once every admitted request has ended, with `false` after `timeoutMs`. */
  whenIdle(timeoutMs: number): Promise<boolean> {
    return this.services.open.whenIdle(timeoutMs);
  }

  /** Runs after the HTTP server has closed and before billing stops accepting charges. */
  async onApplicationShutdown(): Promise<void> {
    await this.whenIdle(LAST_CHARGES_TIMEOUT_MS);
  }
}
