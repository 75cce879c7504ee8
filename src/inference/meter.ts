import { Logger } from '@nestjs/common';
import type { FinishResult } from '../billing/money.types';
import type { ReservationService } from '../billing/reservation.service';
import type { UsageRecord } from '../billing/usage-record';
import { sanitizeUsage } from '../billing/sanitize-usage';
import type { Clock } from '../common/clock';
import type { InFlight } from '../common/in-flight';
import { GatewayError } from '../common/errors/gateway-error';
import type { Micro } from '../common/micro';
import { NO_USAGE, type UsageVector } from '../providers/contract/usage';
import type { CatalogModel } from '../models/catalog-model';
import type { Ending } from './ending';
import type { Candidate, InferenceInput, Receipt } from './inference.types';

const logger = new Logger('Meter');

/**
 * One request's hold, from its acceptance to exactly one ending: `settle` or `release`. The record of the request is
 * written in the same transaction.
 */
export class Meter {
  /** The candidate asked last; it is the one that pays out. */
  private candidate: Candidate | null = null;
  private attempts = 0;
  private firstTokenMs: number | null = null;
  private ended = false;

  constructor(
    readonly input: InferenceInput,
    readonly candidates: readonly Candidate[],
    readonly holdMicro: Micro,
    private readonly reservations: ReservationService,
    private readonly clock: Clock,
    private readonly openMeters: InFlight,
  ) {}

  /** Notes an attempt; returns its number, counted from 1. */
  beginAttempt(candidate: Candidate): number {
    this.candidate = candidate;
    return ++this.attempts;
  }

  markFirstToken(): void {
    this.firstTokenMs ??= this.elapsedMs();
  }

  /**
   * Charges what was used and records it. Resolves when the charge is committed: only then may the end of the answer
   * be sent.
   * @throws GatewayError `service_unavailable` when the charge cannot be committed, or the hold was lost meanwhile.
   */
  async settle(
    reported: UsageVector,
    usageEstimated: boolean,
    ending: Ending = { status: 200, errorCode: null },
  ): Promise<Receipt> {
    const usage = sanitizeUsage(reported);
    const cost = this.costOf(usage, usage === reported);
    const result = await this.end('settled', cost, this.record(ending, usage, usageEstimated));
    if (!result.applied) {
      throw new GatewayError(
        'service_unavailable',
        'The request was held up for so long that its reservation has ended.',
      );
    }
    return { chargedMicro: result.chargedMicro, usage, usageEstimated };
  }

  /** A provider's word is taken, unless it cannot be true: then the customer pays no more than was held. */
  private costOf(usage: UsageVector, sane: boolean): Micro {
    const cost = this.candidate?.price.costMicro(usage) ?? this.holdMicro;
    if (sane && fitsModel(usage, this.input.model)) return cost;
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
    await this.end('released', 0n, this.record(ending, NO_USAGE, false));
  }

  /** Hands the ending to billing, which from here on sees to it. */
  private end(outcome: 'settled' | 'released', actualMicro: Micro, record: UsageRecord): Promise<FinishResult> {
    this.ended = true;
    const ending = this.reservations.finish({
      reservationId: this.input.context.id,
      organizationId: this.input.principal.organizationId,
      outcome,
      actualMicro,
      record,
      releaseIfTurnedAway: !this.input.streamed,
    });
    this.openMeters.end();
    return ending;
  }

  private record(ending: Ending, usage: UsageVector, usageEstimated: boolean): UsageRecord {
    const { context, principal, operation, model, streamed } = this.input;
    return {
      id: context.id,
      organizationId: principal.organizationId,
      keyId: principal.keyId,
      operation,
      model: model.id,
      provider: this.candidate?.provider.id ?? null,
      deploymentId: this.candidate?.deployment.id ?? null,
      priceVersionId: this.candidate?.priceVersion.id ?? null,
      status: ending.status,
      errorCode: ending.errorCode,
      streamed,
      usage,
      usageEstimated,
      attempts: this.attempts,
      firstTokenMs: this.firstTokenMs,
      totalMs: this.elapsedMs(),
    };
  }

  private elapsedMs(): number {
    return Math.round(this.clock.monotonic() - this.input.context.startedAtMs);
  }
}

/** Applies to models whose context length is not known: more than any model reads. */
const LONGEST_CONTEXT = 2_097_152;

/** Whether a model of this size can have read and written so much in one call. */
function fitsModel(usage: UsageVector, { contextLength, maxOutputTokens }: CatalogModel): boolean {
  const limit = contextLength ?? LONGEST_CONTEXT;
  const { inputText, inputCacheRead, inputCacheWrite5m, inputCacheWrite1h, inputImage, inputAudio } = usage;
  const read = inputText + inputCacheRead + inputCacheWrite5m + inputCacheWrite1h + inputImage + inputAudio;
  const written = usage.outputText + usage.outputReasoning + usage.outputImage + usage.outputAudio;
  return read <= limit && written <= Math.max(limit, maxOutputTokens ?? 0);
}
