import type { Micro } from '../common/micro';
import type { AnswerBytes } from '../idempotency/answer-store';
import type { Principal } from '../common/principal';
import type { RequestContext } from '../common/request-context';
import type { CompiledPrice, PricedDetails } from '../billing/price';
import type { CatalogModel, Deployment, PriceVersion } from '../models/catalog-model';
import type { Provider } from '../providers/contract/provider';
import type { ModelFeatures, Quirks } from '../providers/contract/provider-call';
import type { StreamSink } from '../providers/contract/chat';
import type { DeploymentHealth, ProviderLoad } from '../routing/deployment-health';
import type { RoutingDto } from '../routing/routing.dto';
import type { UsageVector } from '../providers/contract/usage';
import type { PromptMeasure } from './token-estimate';

/** A deployment that can be called now: its provider is configured and it has a price in force. */
export interface Candidate {
  /** The model it runs: the one asked for, or one of the request's fallback models. */
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

/** What is to be metered. One per request, whatever the endpoint. */
export interface InferenceInput {
  /** Operation id of the document. */
  readonly operation: string;
  readonly model: CatalogModel;
  /** Models that may answer in its place, in order; each once. */
  readonly fallbacks: readonly CatalogModel[];
  readonly principal: Principal;
  readonly context: RequestContext;
  readonly streamed: boolean;
  /** The request's body as it was sent: what its `Idempotency-Key` stands for. */
  readonly body: unknown;
  /** The request's own `routing` object. */
  readonly routing: RoutingDto | null;
  /** The most the request is expected to use: what is held before a provider is called. */
  readonly estimate: UsageVector;
  /** What chooses the row of the price besides the counts, such as the size of an image. */
  readonly pricedBy?: PricedDetails;
  /** What the prompt is made of, where the usage that is reported for it tells how many tokens its text is. */
  readonly prompt?: PromptMeasure;
  /** Prompts that the model reads one by one, each as long as it can read. Default 1. */
  readonly promptCount?: number;
  /** Whether a candidate can do what the request needs. Set when not all can, or when its `routing` asks for that. */
  readonly supports?: (candidate: Candidate) => boolean;
  /** Work that must not be done twice, such as images: repeated only when it surely was not begun. */
  readonly atMostOnce?: boolean;
  /**
   * For a streamed answer of which a part is not what was asked for, such as a spoken text: it costs nothing unless all of
   * it was made. Who leaves pays all of it, because the provider has been asked for no less.
   */
  readonly soldWhole?: boolean;
}

/** What any answer of a provider tells of its size. */
export interface SizedAnswer {
  /** UTF-8 bytes of what the model wrote. */
  readonly outputBytes: number;
}

/** What of a streamed answer has been handed to its sink so far. */
export interface Delivered extends SizedAnswer {
  /** The last usage that the provider reported; also what is known of it from the start. */
  readonly usage: UsageVector | null;
  /** `null`: the provider has not said that its answer is complete. Not there where it says no such thing. */
  readonly finishReason?: string | null;
}

/** An answer that has begun to arrive, of whatever kind. Whoever opens one must pipe it. */
export interface OpenedStream<Progress extends Delivered> {
  readonly progress: Progress;
  /** Resolves at the proper end. @throws ProviderError (phase `stream`) when it breaks off. */
  pipe(sink: StreamSink): Promise<void>;
}

/** What is to be charged for an answer. The charge itself can be less: what neither the hold nor the balance covers. */
export interface Bill {
  readonly costMicro: Micro;
  readonly usage: UsageVector;
  readonly usageEstimated: boolean;
}

/**
 * Text around a gap for the charge in decimal digits. The charge is known when it is committed, and by then the answer
 * has been stored for replays: so it is rendered around the gap, and the gap is filled twice.
 */
export interface PricedText {
  readonly head: string;
  readonly tail: string;
}

/**
 * A whole answer as the client gets it. Without a `tail` it does not tell its price, and `head` is all of it. A long one
 * comes in pieces, which are sent one by one: copies of it would hold up everybody.
 */
export interface RenderedAnswer {
  readonly contentType: string;
  readonly head: AnswerBytes;
  readonly tail: string | null;
  /** What is kept for replays in place of `head`, where there is something shorter to make it of: `refresh` does. */
  readonly keptHead?: AnswerBytes;
}
