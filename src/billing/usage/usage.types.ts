import type { ModalityGroup } from '../../core/types/modality';
import type { Micro } from '../../core/types/micro';
import type { AttemptNote } from '../ledger/money.types';
import type { PricedDetails } from '../pricing/price';
import type { Price } from '../../models/catalog-model';
import type { UsageVector } from '../../providers/contract/usage';
import type { LatencyCounters } from './latency';
import type { Operation } from './operations';

/** `error`: status 400 or higher, including disconnects (499). */
export type RequestStatus = 'success' | 'error';

/** Filters the requests of an organization; absent fields do not filter. */
export interface RequestFilter {
  readonly from?: Date;
  /** Exclusive. */
  readonly to?: Date;
  readonly keyId?: string;
  readonly model?: string;
  readonly status?: RequestStatus;
  readonly modality?: ModalityGroup;
  readonly operation?: Operation;
  readonly errorCode?: string;
  /** The last provider that was tried. */
  readonly provider?: string;
  readonly minCostMicro?: Micro;
  readonly minTotalMs?: number;
}

/** One request in a list. */
export interface RequestSummary {
  readonly id: string;
  /** When the request ended: ISO 8601 in UTC with microseconds. */
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

/** All details of one request. */
export interface RequestDetails extends RequestSummary {
  readonly deploymentId: string | null;
  readonly priceVersionId: string | null;
  readonly holdMicro: Micro;
  readonly uncollectedMicro: Micro;
  readonly attemptLog: readonly AttemptNote[] | null;
  readonly pricedBy: PricedDetails | null;
  /** Whether a video or music job has this id. */
  readonly hasJob: boolean;
}

/** Sums over requests. */
export interface UsageSums {
  readonly requests: number;
  readonly errors: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly chargedMicro: Micro;
  /** Latencies of successful requests by model; totals by key have none. */
  readonly latency: LatencyCounters;
}

/** The version of a price that a request was charged by. */
export interface ChargedPrice {
  readonly id: string;
  readonly modelId: string;
  /** `null`: the price applies to all deployments of the model. */
  readonly deploymentId: string | null;
  readonly effectiveFrom: Date;
  readonly effectiveTo: Date | null;
  readonly content: Price;
}
