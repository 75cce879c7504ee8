import type { PricedDetails } from './price';
import type { UsageVector } from '../providers/contract/usage';

/** One call to a provider. The keys are those that are stored. */
export interface AttemptNote {
  readonly provider: string;
  readonly deployment: string;
  /** `success`, `canceled` when nobody waited any more, else a code of the error table. */
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
  /** HTTP status that the client got, or would have got had it stayed (499: it left). */
  readonly status: number;
  /** Code of the error table; `null` on success. */
  readonly errorCode: string | null;
  readonly streamed: boolean;
  readonly usage: UsageVector;
  /** What chose the row of the price besides the counts; `null`: nothing. */
  readonly pricedBy: PricedDetails | null;
  readonly usageEstimated: boolean;
  readonly attempts: number;
  /** Each attempt, the first one first; `null` when there was at most one and it did not fail. */
  readonly attemptLog: readonly AttemptNote[] | null;
  /** From the request's arrival to the first byte of the answer; `null` when there was none. */
  readonly firstTokenMs: number | null;
  readonly totalMs: number;
}
