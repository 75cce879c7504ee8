import { Inject, Injectable } from '@nestjs/common';
import { type CompiledPrice, compilePrice, estimating } from '../billing/pricing/price';
import { APP_CONFIG, type AppConfig } from '../core/config/app-config';
import { GatewayError } from '../core/errors/gateway-error';
import { CLOCK, type Clock } from '../core/time/clock';
import { MAX_MICRO, type Micro } from '../core/types/micro';
import { type CatalogModel, type PriceVersion, REQUEST_TRAITS, type RequestTraits } from '../models/catalog-model';
import { ModelCatalogService } from '../models/model-catalog.service';
import { HealthService } from '../models/routing/health.service';
import type { RoutingDto } from '../models/routing/routing.dto';
import { isFixedOrder, orderBy, type Strategy } from '../models/routing/strategies';
import type { ChatProvider, ResponsesProvider } from '../providers/contract/chat';
import type { UsageVector } from '../providers/contract/usage';
import { ProvidersService } from '../providers/providers.service';
import type { Candidate, InferenceInput } from './inference.types';
import { noneAvailable } from './provider-failure';

/** The dialect of deployments that are called through `Provider.responses`. */
const RESPONSES_DIALECT = 'openai-responses';

/**
 * The adapter of a candidate for chat, in the dialect of its deployment.
 * @throws GatewayError `no_provider_available`
 */
export function chatOf({ provider, deployment }: Candidate): ChatProvider {
  const chat = deployment.dialect === RESPONSES_DIALECT ? provider.responses : provider.chat;
  if (chat === undefined) throw new GatewayError('no_provider_available', `${provider.id} does not serve chat.`);
  return chat;
}

/** The adapter of a candidate whose deployment speaks the Responses API; `null`: it does not. */
export function responsesOf({ provider, deployment }: Candidate): ResponsesProvider | null {
  return deployment.dialect === RESPONSES_DIALECT ? (provider.responses ?? null) : null;
}

/**
 * The deployments that can serve a model, best priority first. The array is cached until the catalogue snapshot or a
 * price changes.
 */
@Injectable()
export class CandidateSelector {
  private readonly compiledPrices = new WeakMap<PriceVersion, CompiledPrice>();
  private readonly candidates = new WeakMap<CatalogModel, readonly Candidate[]>();

  constructor(
    private readonly catalog: ModelCatalogService,
    private readonly providers: ProvidersService,
    private readonly health: HealthService,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Empty when no deployment of the model can be called. */
  select(model: CatalogModel): readonly Candidate[] {
    const known = this.candidates.get(model);
    if (known !== undefined && this.areCurrent(model, known)) return known;
    const selected = this.build(model);
    // An empty list is not cached: `areCurrent` could not detect a price that comes into force.
    if (selected.length > 0) this.candidates.set(model, selected);
    return selected;
  }

  private areCurrent(model: CatalogModel, candidates: readonly Candidate[]): boolean {
    const nowMs = this.clock.now();
    return candidates.every(
      ({ deployment, priceVersion }) => this.catalog.currentPrice(model, deployment, nowMs) === priceVersion,
    );
  }

  private build(model: CatalogModel): readonly Candidate[] {
    const nowMs = this.clock.now();
    const selected: Candidate[] = [];
    for (const deployment of model.deployments) {
      const provider = this.providers.get(deployment.provider);
      const priceVersion = this.catalog.currentPrice(model, deployment, nowMs);
      if (provider === undefined || priceVersion === null) continue;
      selected.push({
        model,
        deployment,
        provider,
        priceVersion,
        price: this.compile(priceVersion),
        features: model.features,
        quirks: { ...provider.quirks, ...deployment.quirks },
        health: this.health.healthOf(deployment.id),
        load: this.health.loadOf(provider.id),
      });
    }
    return selected;
  }

  private compile(version: PriceVersion): CompiledPrice {
    let compiled = this.compiledPrices.get(version);
    if (compiled === undefined) {
      compiled = compilePrice(version.price);
      this.compiledPrices.set(version, compiled);
    }
    return compiled;
  }
}

/** A field of the `routing` object that can exclude a candidate. */
export type RulingConstraint = 'only' | 'ignore' | 'max_price';

/**
 * The field of the `routing` object that excludes a candidate; `null`: none. Names are provider ids. An excluded
 * candidate is never tried, even if no other is left.
 */
export function ruledOutBy({ provider, priceVersion }: Candidate, routing: RoutingDto): RulingConstraint | null {
  const { only, ignore, max_price: maxPrice } = routing;
  if (only != null && !only.includes(provider.id)) return 'only';
  if (ignore != null && ignore.includes(provider.id)) return 'ignore';
  if (maxPrice == null) return null;
  const { tokens, request } = priceVersion.price;
  const isCheap =
    (tokens?.per_1m_micro.input ?? 0) <= (maxPrice.prompt ?? Infinity) &&
    (tokens?.per_1m_micro.output ?? 0) <= (maxPrice.completion ?? Infinity) &&
    (request?.per_request_micro ?? 0) <= (maxPrice.request ?? Infinity);
  return isCheap ? null : 'max_price';
}

/** Whether the candidate's deployment serves requests with these traits, in a dialect that its provider supports. */
export function meetsConditions({ deployment, provider }: Candidate, traits: RequestTraits = {}): boolean {
  const { dialect, when = {} } = deployment;
  if (dialect === RESPONSES_DIALECT && provider.responses === undefined) return false;
  return REQUEST_TRAITS.every((trait) => when[trait] === undefined || when[trait] === (traits[trait] === true));
}

/** A number for each combination of traits. */
function kindOf(traits: RequestTraits): number {
  return REQUEST_TRAITS.reduce((kind, trait) => kind * 2 + (traits[trait] === true ? 1 : 0), 0);
}

function isAllowed(candidate: Candidate, routing: RoutingDto): boolean {
  return ruledOutBy(candidate, routing) === null;
}

/** Puts the providers named by the caller first, in that order; the others keep their order. */
function inOrder(candidates: readonly Candidate[], order: readonly string[]): readonly Candidate[] {
  if (order.length === 0) return candidates;
  const rank = ({ provider }: Candidate): number => {
    const position = order.indexOf(provider.id);
    return position === -1 ? order.length : position;
  };
  return candidates.toSorted((left, right) => rank(left) - rank(right));
}

const NO_ROUTING: RoutingDto = {};

/**
 * Plans the route of a request: the candidates to try, in order (src/models/routing/README.md). Without a `routing`
 * object and with all deployments healthy, the plan is an array cached until the catalogue changes.
 */
@Injectable()
export class RoutePlanner {
  private readonly strategy: Strategy;
  private readonly maxAttempts: number;
  private readonly plainPlans = new WeakMap<readonly Candidate[], readonly Candidate[] | null>();
  /** The candidates for each kind of request (`kindOf`). */
  private readonly conditional = new WeakMap<readonly Candidate[], (readonly Candidate[])[]>();

  constructor(
    private readonly selector: CandidateSelector,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(APP_CONFIG) { routing }: AppConfig,
  ) {
    this.strategy = routing.strategy;
    this.maxAttempts = routing.maxAttempts;
  }

  /**
   * Never empty.
   * @throws GatewayError `no_provider_available` or `provider_rate_limited`, with `retry_after` when waiting helps.
   */
  plan(input: InferenceInput): readonly Candidate[] {
    const candidates = this.select(input.model, input);
    if (input.routing === null && input.supports === undefined) {
      const plain = this.plainPlan(candidates);
      if (plain !== null && plain.every(isReady)) return plain;
    }
    return this.planInFull(input, candidates, input.routing ?? NO_ROUTING);
  }

  /** The candidates of a model whose conditions the request meets. */
  private select(model: CatalogModel, { traits = {} }: InferenceInput): readonly Candidate[] {
    const candidates = this.selector.select(model);
    let byKind = this.conditional.get(candidates);
    if (byKind === undefined) {
      byKind = [];
      this.conditional.set(candidates, byKind);
    }
    return (byKind[kindOf(traits)] ??= serving(candidates, traits));
  }

  /** The cached plan of requests without `routing`; `null` when it differs per request. */
  private plainPlan(candidates: readonly Candidate[]): readonly Candidate[] | null {
    let plan = this.plainPlans.get(candidates);
    if (plan === undefined) {
      const isFixed = candidates.length > 0 && this.strategy === 'priority' && isFixedOrder(candidates);
      plan = isFixed ? candidates.slice(0, this.maxAttempts) : null;
      this.plainPlans.set(candidates, plan);
    }
    return plan;
  }

  private planInFull(
    input: InferenceInput,
    candidates: readonly Candidate[],
    routing: RoutingDto,
  ): readonly Candidate[] {
    const models = [candidates, ...input.fallbacks.map((model) => this.select(model, input))];
    if (models.every(({ length }) => length === 0)) {
      throw new GatewayError('no_provider_available', `No provider is available for ${input.model.id}.`);
    }
    const nowMs = this.clock.monotonic();
    const wanted = models.flatMap((ofModel) => this.order(ofModel, input, routing, nowMs));
    if (wanted.length === 0) {
      const message = 'The routing object excludes every provider of this model.';
      throw new GatewayError('no_provider_available', message, { param: 'routing' });
    }
    const { refuses } = input;
    const accepting = refuses === undefined ? wanted : wanted.filter((candidate) => !refuses(candidate));
    const limit = routing.allow_fallbacks === false ? 1 : (routing.max_attempts ?? this.maxAttempts);
    return takeCallable(accepting.length > 0 ? accepting : wanted, limit, nowMs);
  }

  /** The allowed candidates of one model, best first. */
  private order(
    candidates: readonly Candidate[],
    input: InferenceInput,
    routing: RoutingDto,
    nowMs: number,
  ): readonly Candidate[] {
    const { streamed, supports } = input;
    const allowed = candidates.filter(
      (candidate) => isAllowed(candidate, routing) && (supports === undefined || supports(candidate)),
    );
    const strategy = routing.strategy ?? this.strategy;
    if (strategy === 'smart') {
      const param = 'routing.strategy';
      throw new GatewayError('not_implemented', 'The strategy "smart" is not available in this build.', { param });
    }
    const ordered = orderBy(strategy, allowed, {
      streamed,
      nowMs,
      costOf: (candidate) => estimatedCost(candidate, input),
      random: Math.random,
    });
    return inOrder(ordered, routing.order ?? []);
  }
}

/** The candidates that serve requests with these traits; the same array when all do. */
function serving(candidates: readonly Candidate[], traits: RequestTraits): readonly Candidate[] {
  const met = candidates.filter((candidate) => meetsConditions(candidate, traits));
  return met.length === candidates.length ? candidates : met;
}

function isReady({ health, load }: Candidate): boolean {
  return health.isUndisturbed && !load.isFull;
}

/**
 * The first `limit` callable candidates. A candidate that is due for a probe does not count: if another request claims
 * the probe, this request still needs its full number of candidates.
 */
function takeCallable(candidates: readonly Candidate[], limit: number, nowMs: number): readonly Candidate[] {
  const taken: Candidate[] = [];
  let ready = 0;
  for (const candidate of candidates) {
    if (ready === limit) break;
    if (candidate.load.isFull) continue;
    const standing = candidate.health.standing(nowMs);
    if (standing === 'unavailable') continue;
    if (standing === 'ready') ready++;
    taken.push(candidate);
  }
  if (taken.length > 0) return taken;
  throw noneAvailable(candidates, nowMs);
}

/**
 * The amount to hold: the highest cost over the candidates, at most what an account can have.
 * @throws GatewayError `model_not_found` when a candidate has no price for the request
 */
export function worstCaseCost(candidates: readonly Candidate[], input: InferenceInput): Micro {
  let most = 0n;
  for (const candidate of candidates) {
    const cost = estimatedCost(candidate, input);
    // A price without a matching row is no price.
    if (cost === null) throw new GatewayError('model_not_found', `${input.model.id} has no price for this request.`);
    if (cost > most) most = cost;
  }
  return most > MAX_MICRO ? MAX_MICRO : most;
}

/**
 * The cost of the estimated usage at a candidate; `null` without a price for it. When the vendor may cache the prompt,
 * all of the prompt is priced as a cache write, unless plain input costs more: not every vendor obeys the client.
 */
export function estimatedCost(
  { price, quirks }: Pick<Candidate, 'price' | 'quirks'>,
  { estimate, prompt, pricedBy }: Pick<InferenceInput, 'estimate' | 'prompt' | 'pricedBy'>,
): Micro | null {
  const details = estimating(pricedBy);
  const plain = price.costMicro(estimate, details);
  const cacheWrite = prompt?.cacheWrite ?? (quirks.implicitCacheWrites === true ? 'short' : null);
  if (cacheWrite === null || plain === null) return plain;
  const written = price.costMicro(asCacheWrite(estimate, cacheWrite), details);
  return written !== null && written > plain ? written : plain;
}

function asCacheWrite(estimate: UsageVector, cacheWrite: 'short' | 'long'): UsageVector {
  const written = cacheWrite === 'long' ? 'inputCacheWrite1h' : 'inputCacheWrite5m';
  return { ...estimate, inputText: 0, [written]: estimate.inputText };
}
