import type { Modality } from '../common/modality';
import type { Micro } from '../common/micro';
import type { AttemptNote } from '../billing/usage-record';
import type { PricedDetails } from '../billing/price';
import type { Price } from '../models/catalog-model';
import type { UsageVector } from '../providers/contract/usage';
import type { Operation } from './operations';

/** `error`: anything from 400 on, also a request whose client left (499). */
export type RequestStatus = 'success' | 'error';

/** Which requests of an organization; a part that is not given leaves none out. */
export interface RequestFilter {
  readonly from?: Date;
  /** Exclusive. */
  readonly to?: Date;
  readonly keyId?: string;
  readonly model?: string;
  readonly status?: RequestStatus;
  readonly modality?: Modality;
  readonly operation?: Operation;
  readonly errorCode?: string;
}

/** One request, as lists tell it. */
export interface RequestSummary {
  readonly id: string;
  /** When it ended: ISO 8601 in UTC with microseconds. */
  readonly createdAt: string;
  readonly keyId: string;
  readonly model: string;
  readonly provider: string | null;
  readonly operation: Operation;
  readonly httpStatus: number;
  readonly errorCode: string | null;
  readonly streamed: boolean;
  readonly usage: UsageVector;
  readonly usageEstimated: boolean;
  readonly attempts: number;
  readonly firstTokenMs: number | null;
  readonly totalMs: number;
  readonly chargedMicro: Micro;
}

/** A request with all that is known of it. */
export interface RequestDetails extends RequestSummary {
  readonly deploymentId: string | null;
  readonly priceVersionId: string | null;
  readonly holdMicro: Micro;
  readonly uncollectedMicro: Micro;
  readonly attemptLog: readonly AttemptNote[] | null;
  readonly pricedBy: PricedDetails | null;
  /** Whether there is a video or music job of this id. */
  readonly hasJob: boolean;
}

/** Sums over requests. */
export interface UsageSums {
  readonly requests: number;
  readonly errors: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly chargedMicro: Micro;
}

/** The version of a price that a request was charged by. */
export interface ChargedPrice {
  readonly id: string;
  readonly modelId: string;
  /** `null`: it is the price of the model, wherever it runs. */
  readonly deploymentId: string | null;
  readonly effectiveFrom: Date;
  readonly effectiveTo: Date | null;
  readonly content: Price;
}
