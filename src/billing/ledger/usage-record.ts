import type { PricedDetails } from '../pricing/price';
import type { UsageVector } from '../../providers/contract/usage';

/** One call to a provider. Keys as stored. */
export interface AttemptNote {
  readonly provider: string;
  readonly deployment: string;
  /** `success`, `canceled` after a disconnect, else a code of the error table. */
  readonly outcome: string;
  readonly duration_ms: number;
}

/** The receipt of one request, written in the transaction that ends its reservation. */
export interface UsageRecord {
  /** The request's UUID, which is also the reservation's. */
  readonly id: string;
  readonly organizationId: string;
  readonly keyId: string;
  /** Operation id of the document, for example `createChatCompletion`. */
  readonly operation: string;
  readonly model: string;
  readonly provider: string | null;
  readonly deploymentId: string | null;
  readonly priceVersionId: string | null;
  /** HTTP status that the client received (499: it disconnected). */
  readonly status: number;
  /** Code of the error table; `null` on success. */
  readonly errorCode: string | null;
  readonly streamed: boolean;
  readonly usage: UsageVector;
  /** Options besides the counts that selected the price row; `null`: none. */
  readonly pricedBy: PricedDetails | null;
  readonly usageEstimated: boolean;
  readonly attempts: number;
  /** Each attempt, the first one first; `null` when there was at most one and it did not fail. */
  readonly attemptLog: readonly AttemptNote[] | null;
  /** From the request's arrival to the first byte of the answer; `null` when there was none. */
  readonly firstTokenMs: number | null;
  readonly totalMs: number;
}

/** The receipt without characters that PostgreSQL refuses, and without attempt log and price options (free text). */
export function toStorableRecord(record: UsageRecord): UsageRecord {
  return {
    ...record,
    operation: toStorableText(record.operation),
    model: toStorableText(record.model),
    provider: record.provider && toStorableText(record.provider),
    deploymentId: record.deploymentId && toStorableText(record.deploymentId),
    priceVersionId: record.priceVersionId && toStorableText(record.priceVersionId),
    errorCode: record.errorCode && toStorableText(record.errorCode),
    attemptLog: null,
    pricedBy: null,
  };
}

function toStorableText(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '');
}
