import type { Micro } from '../common/micro';
import type { Principal } from '../common/principal';
import type { RequestContext } from '../common/request-context';
import type { CompiledPrice } from '../billing/price';
import type { CatalogModel, Deployment, PriceVersion } from '../models/catalog-model';
import type { Provider } from '../providers/contract/provider';
import type { ModelFeatures, Quirks } from '../providers/contract/provider-call';
import type { RoutingDto } from '../routing/routing.dto';
import type { UsageVector } from '../providers/contract/usage';

/** A deployment that can be called now: its provider is configured and it has a price in force. */
export interface Candidate {
  readonly deployment: Deployment;
  readonly provider: Provider;
  readonly priceVersion: PriceVersion;
  readonly price: CompiledPrice;
  readonly features: ModelFeatures;
  /** The vendor's quirks refined by the deployment's. */
  readonly quirks: Quirks;
}

/** What is to be metered. One per request, whatever the endpoint. */
export interface InferenceInput {
  /** Operation id of the document. */
  readonly operation: string;
  readonly model: CatalogModel;
  readonly principal: Principal;
  readonly context: RequestContext;
  readonly streamed: boolean;
  /** The request's own `routing` object. */
  readonly routing: RoutingDto | null;
  /** The most the request is expected to use: what is held before a provider is called. */
  readonly estimate: UsageVector;
}

/** What a finished request cost. */
export interface Receipt {
  readonly chargedMicro: Micro;
  readonly usage: UsageVector;
  readonly usageEstimated: boolean;
}
