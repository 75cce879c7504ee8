import type { Micro } from '../core/types/micro';
import type { ResponseBytes } from '../auth/idempotency/response-store';
import type { Principal, RequestContext } from '../core/types/request-context';
import type { CompiledPrice, PricedDetails } from '../billing/pricing/price';
import type { CatalogModel, Deployment, PriceVersion, RequestTraits } from '../models/catalog-model';
import type { Provider } from '../providers/contract/provider';
import type { ModelFeatures, Quirks } from '../providers/contract/provider-call';
import type { StreamSink } from '../providers/contract/chat';
import type { DeploymentHealth, ProviderLoad } from '../models/routing/deployment-health';
import type { RoutingDto } from '../models/routing/routing.dto';
import type { UsageVector } from '../providers/contract/usage';
import type { PromptMeasure } from './token-estimate';

/** A callable deployment: its provider is configured and it has a price in force. */
export interface Candidate {
  /** The requested model or one of the request's fallback models. */
  readonly model: CatalogModel;
  readonly deployment: Deployment;
  readonly provider: Provider;
  readonly priceVersion: PriceVersion;
  readonly price: CompiledPrice;
  readonly features: ModelFeatures;
  /** The vendor's quirks refined by the deployment's. */
  readonly quirks: Quirks;
  readonly health: DeploymentHealth;
  readonly load: ProviderLoad;
}

/** The metered request. One per request, for every endpoint. */
export interface InferenceInput {
  /** Operation id of the document. */
  readonly operation: string;
  readonly model: CatalogModel;
  /** Fallback models, in order, without duplicates. */
  readonly fallbacks: readonly CatalogModel[];
  readonly principal: Principal;
  readonly context: RequestContext;
  readonly streamed: boolean;
  /** The request body as sent; fingerprinted for the `Idempotency-Key`. */
  readonly body: unknown;
  /** The request's own `routing` object. */
  readonly routing: RoutingDto | null;
  /** Upper estimate of the usage; its cost is held before a provider is called. */
  readonly estimate: UsageVector;
  /** Selects the price row besides the counts, such as an image size. */
  readonly pricedBy?: PricedDetails;
  /** Size of the prompt, where its reported usage can calibrate the token ratio. */
  readonly prompt?: PromptMeasure;
  /** Number of prompts that the model reads separately, each up to its context length. Default 1. */
  readonly promptCount?: number;
  /** The traits of the request that the conditions of deployments test (`when`). Default: none. */
  readonly traits?: RequestTraits;
  /** Whether a candidate supports the request. Set when not all may, or when `routing` requires it. */
  readonly supports?: (candidate: Candidate) => boolean;
  /**
   * Whether the candidate's provider would refuse the request. Set when `routing` requires support for all parameters.
   * When every provider would refuse, the first is still called, so that the error names what it refuses.
   */
  readonly refuses?: (candidate: Candidate) => boolean;
  /** Work such as images that must not run twice: retried only when the first call never started. */
  readonly atMostOnce?: boolean;
  /**
   * A streamed response, such as speech, that is useless unless complete: free unless the provider completes it. A
   * client that disconnects pays the full price, because the provider generates all of it.
   */
  readonly allOrNothing?: boolean;
}

/** The size of a provider's response. */
export interface SizedAnswer {
  /** UTF-8 bytes of what the model wrote. */
  readonly outputBytes: number;
}

/** Estimates the usage of delivered output where the provider reported none. */
export interface UsageEstimator {
  estimateUsage(outputBytes: number, servedBy: CatalogModel): UsageVector;
}

/** The part of a streamed response passed to its sink so far. */
export interface Delivered extends SizedAnswer {
  /** The last usage that the provider reported, or the usage known from the start. */
  readonly usage: UsageVector | null;
  /** `null` until the provider marks the response complete. Absent for formats without a finish reason. */
  readonly finishReason?: string | null;
  /** Number of events skipped because they could not be parsed. */
  readonly skippedEvents?: number;
}

/** A response that has started to arrive. The caller that opens it must pipe it. */
export interface OpenedStream<Progress extends Delivered> {
  readonly progress: Progress;
  /** Resolves when the stream completes. @throws ProviderError (phase `stream`) when it is interrupted. */
  pipe(sink: StreamSink): Promise<void>;
}

/** The price of a response. The charge is lower where neither hold nor balance covers it. */
export interface Bill {
  readonly costMicro: Micro;
  readonly usage: UsageVector;
  readonly usageEstimated: boolean;
}

/**
 * Text around a gap for the charge in decimal digits. The charge is known only at commit, after the response has been
 * stored for replays, so client and replays fill the gap separately.
 */
export interface PricedText {
  readonly head: string;
  readonly tail: string;
}

/**
 * A complete response. Without a `tail` it does not contain its price, and `head` is all of it. A long one comes in
 * pieces that are sent one by one: joining them would block the event loop.
 */
export interface RenderedAnswer {
  readonly contentType: string;
  readonly head: ResponseBytes;
  readonly tail: string | null;
  /** A more compact form of `head` stored for replays; `refresh` restores it. */
  readonly keptHead?: ResponseBytes;
}
