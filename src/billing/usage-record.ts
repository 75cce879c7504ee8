import type { UsageVector } from '../providers/contract/usage';

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
  readonly usageEstimated: boolean;
  readonly attempts: number;
  /** From the request's arrival to the first byte of the answer; `null` when there was none. */
  readonly firstTokenMs: number | null;
  readonly totalMs: number;
}
