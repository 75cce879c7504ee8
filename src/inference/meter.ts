import { Logger } from '@nestjs/common';
import type { FinishResult } from '../billing/money.types';
import { estimating } from '../billing/price';
import type { ReservationService } from '../billing/reservation.service';
import type { AttemptNote, UsageRecord } from '../billing/usage-record';
import { sanitizeUsage } from '../billing/sanitize-usage';
import type { Clock } from '../common/clock';
import type { InFlight } from '../common/in-flight';
import type { ErrorCode } from '../common/errors/catalog';
import { GatewayError } from '../common/errors/gateway-error';
import type { IdempotencyCompletion } from '../common/idempotency';
import type { Micro } from '../common/micro';
import { inputTokensOf, NO_USAGE, outputTokensOf, tokensOf, type UsageVector } from '../providers/contract/usage';
import type { LimitLease } from '../limits/limiter.service';
import type { CatalogModel } from '../models/catalog-model';
import type { Ending } from './ending';
import type { Bill, Candidate, InferenceInput } from './inference.types';
import type { TokenRatios } from './token-ratio.service';

const logger = new Logger('Meter');

const ANSWERED: Ending = { status: 200, errorCode: null };

/**
 * One request's hold, from its acceptance to exactly one ending: `settle` or `release`. The record of the request is
 * written in the same transaction.
 */
export class Meter {
  /** The candidate asked last; it is the one that pays out. */
  private candidate: Candidate | null = null;
  private attempts = 0;
  private attemptBeganMs = 0;
  /** Made with the first failure: most requests have none. */
  private attemptLog: AttemptNote[] | null = null;
  private firstTokenMs: number | null = null;
  private ended = false;

  constructor(
    readonly input: InferenceInput,
    readonly candidates: readonly Candidate[],
    readonly holdMicro: Micro,
    private readonly lease: LimitLease,
    private readonly reservations: ReservationService,
    private readonly clock: Clock,
    private readonly openMeters: InFlight,
    private readonly ratios: TokenRatios,
  ) {}

  /** Since the request arrived. */
  get elapsedMs(): number {
    return this.clock.monotonic() - this.input.context.startedAtMs;
  }

  /** Notes an attempt; returns its number, counted from 1. */
  beginAttempt(candidate: Candidate): number {
    this.candidate = candidate;
    this.attemptBeganMs = this.clock.monotonic();
    return ++this.attempts;
  }

  /** Notes how the attempt that began last has ended, unless it goes on to be the answer. */
  noteFailure(outcome: ErrorCode | 'canceled'): void {
    this.attemptLog = [...(this.attemptLog ?? []), ...this.currentAttempt(outcome)];
  }

  private currentAttempt(outcome: string): AttemptNote[] {
    if (this.candidate === null) return [];
    const { provider, deployment } = this.candidate;
    const tookMs = Math.round(this.clock.monotonic() - this.attemptBeganMs);
    return [{ provider: provider.id, deployment: deployment.id, outcome, duration_ms: tookMs }];
  }

  /** The model that answered, or that would have. */
  get servedModel(): CatalogModel {
    return this.candidate?.model ?? this.input.model;
  }

  markFirstToken(): void {
    this.firstTokenMs ??= Math.round(this.elapsedMs);
  }

  /** What the use that a provider has reported, or that was estimated, costs. What is reported is learned from. */
  bill(reported: UsageVector, usageEstimated: boolean): Bill {
    const usage = sanitizeUsage(reported);
    const { prompt } = this.input;
    if (prompt !== undefined && !usageEstimated) this.ratios.observe(this.servedModel, prompt, usage);
    return { usage, usageEstimated, costMicro: this.costOf(usage, usage === reported, usageEstimated) };
  }

  /**
   * Charges a bill and records it. Resolves with the charge when it is committed: only then may the end of the answer
   * be sent. A key that the request has claimed gets its answer in the same transaction; without a completion it is
   * free again.
   * @throws GatewayError `service_unavailable` when the charge cannot be committed, or the hold was lost meanwhile.
   */
  async settle(
    { usage, usageEstimated, costMicro }: Bill,
    ending: Ending = ANSWERED,
    completion: IdempotencyCompletion | null = null,
  ): Promise<Micro> {
    const result = await this.end('settled', costMicro, this.record(ending, usage, usageEstimated), completion);
    if (!result.applied) {
      throw new GatewayError(
        'service_unavailable',
        'The request was held up for so long that its reservation has ended.',
      );
    }
    return result.chargedMicro;
  }

  /** A provider's word is taken, unless it cannot be true: then the customer pays no more than was held. */
  private costOf(usage: UsageVector, sane: boolean, usageEstimated: boolean): Micro {
    const { pricedBy } = this.input;
    const details = usageEstimated ? estimating(pricedBy) : pricedBy;
    const cost = this.candidate?.price.costMicro(usage, details) ?? this.holdMicro;
    if (sane && fitsModel(usage, this.servedModel, this.input.promptCount)) return cost;
    logger.error({
      message: 'a provider reported usage that cannot be true',
      requestId: this.input.context.requestId,
      deployment: this.candidate?.deployment.id,
    });
    return cost < this.holdMicro ? cost : this.holdMicro;
  }

  /** Ends the hold without a charge: nothing was delivered. Safe to call after any ending. */
  async release(ending: Ending): Promise<void> {
    if (this.ended) return;
    await this.end('released', 0n, this.record(ending, NO_USAGE, false), null);
  }

  /** Hands the ending to billing, which from here on sees to it. */
  private end(
    outcome: 'settled' | 'released',
    actualMicro: Micro,
    record: UsageRecord,
    completion: IdempotencyCompletion | null,
  ): Promise<FinishResult> {
    this.ended = true;
    const ending = this.reservations.finish({
      reservationId: this.input.context.id,
      organizationId: this.input.principal.organizationId,
      outcome,
      actualMicro,
      record,
      completion,
      // Of what is sold whole the client did not get the end.
      releaseIfTurnedAway: !this.input.streamed || this.input.soldWhole === true,
    });
    this.lease.release(tokensOf(record.usage));
    this.openMeters.end();
    return ending;
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
      attemptLog: this.wholeLog(ending),
      pricedBy: this.input.pricedBy ?? null,
      firstTokenMs: this.firstTokenMs,
      totalMs: Math.round(this.elapsedMs),
    };
  }

  /** With the attempt that was the answer, or broke off when it was sent. */
  private wholeLog({ status, errorCode }: Ending): readonly AttemptNote[] | null {
    if (this.attemptLog === null || this.attemptLog.length === this.attempts) return this.attemptLog;
    const outcome = errorCode ?? (status === ANSWERED.status ? 'success' : 'canceled');
    return [...this.attemptLog, ...this.currentAttempt(outcome)];
  }
}

/** Applies to models whose context length is not known: more than any model reads. */
const LONGEST_CONTEXT = 2_097_152;

/** Whether a model of this size can have read and written so much in one call. */
function fitsModel(usage: UsageVector, { contextLength, maxOutputTokens }: CatalogModel, promptCount = 1): boolean {
  const limit = contextLength ?? LONGEST_CONTEXT;
  return inputTokensOf(usage) <= limit * promptCount && outputTokensOf(usage) <= Math.max(limit, maxOutputTokens ?? 0);
}
