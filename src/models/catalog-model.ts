import type { Modality } from '../core/types/modality';
import type { RateLimits } from '../core/types/rate-limits';
import type { ModelFeatures, Quirks } from '../providers/contract/provider-call';
import type { RequestMapping } from '../providers/contract/request-mapping';

/**
 * Prices in integer micro-units per one million tokens. A missing class costs as much as its parent (see
 * `billing/pricing/price.ts`).
 */
export interface TokenRates {
  readonly input: number;
  readonly output: number;
  readonly cache_read?: number;
  readonly cache_write_5m?: number;
  readonly cache_write_1h?: number;
  readonly reasoning?: number;
  readonly image_in?: number;
  readonly image_cache_read?: number;
  readonly image_out?: number;
  readonly audio_in?: number;
  readonly audio_cache_read?: number;
  readonly audio_out?: number;
}

/** Above `above_input_tokens` (strictly, cache included) the whole request is billed at these rates. */
export interface TokenTier {
  readonly above_input_tokens: number;
  readonly per_1m_micro: TokenRates;
}

/** Prices per unit of each kind. `'*'` matches anything; the first matching row applies. */
export interface Price {
  readonly tokens?: { readonly per_1m_micro: TokenRates; readonly tiers?: readonly TokenTier[] };
  readonly image?: {
    readonly rows: readonly { readonly size?: string; readonly quality?: string; readonly per_image_micro: number }[];
    readonly estimate_only?: boolean;
  };
  readonly video?: {
    readonly rows: readonly {
      readonly resolution?: string;
      readonly audio?: boolean | '*';
      readonly per_second_micro: number;
      readonly min_seconds?: number;
    }[];
    readonly per_job_micro?: number;
  };
  readonly music?: { readonly per_second_micro?: number; readonly per_job_micro?: number };
  readonly speech?: { readonly per_1k_chars_micro: number };
  readonly transcription?: {
    readonly per_minute_micro: number;
    readonly round_up_to_s?: number;
    readonly min_seconds?: number;
  };
  readonly request?: { readonly per_request_micro: number };
  /**
   * Charges by the vendor's bill (`VendorBill`), if the vendor reports one: one of these replaces all kinds above,
   * which remain the estimate before the call and the charge without a bill.
   */
  readonly vendor_cost?: { readonly per_usd_micro: number };
  readonly unit?: { readonly per_unit_micro: number };
  readonly megapixel?: { readonly per_megapixel_micro: number };
}

/** A version of a price. Versions are append-only, so that a stored request can always be priced again. */
export interface PriceVersion {
  /** Primary key of `price_version`. */
  readonly id: string;
  /** Milliseconds since the epoch, UTC. */
  readonly effectiveFromMs: number;
  readonly effectiveToMs: number | null;
  /** Set by an operator: takes precedence over the files. */
  readonly byOperator: boolean;
  readonly price: Price;
}

/** Timeouts of a deployment's streams in milliseconds; they replace the configured ones. */
export interface DeploymentTimeouts {
  readonly firstTokenMs?: number;
  /** Limit on silence within a response. */
  readonly idleMs?: number;
}

/** What a deployment's conditions may depend on: whether a request has these traits. */
export const REQUEST_TRAITS = ['tools', 'image', 'last_frame', 'references'] as const;

/**
 * The traits of a request, where an absent one means no, or those that a deployment requires, where an absent one means
 * either. `image`: the first frame of a video, or images to edit; `last_frame` and `references` are those of a video.
 */
export type RequestTraits = Readonly<Partial<Record<(typeof REQUEST_TRAITS)[number], boolean>>>;

/** A model at a provider. */
export interface Deployment {
  readonly id: string;
  readonly provider: string;
  readonly upstreamModel: string;
  /** The wire format, if the provider has several; `null`: the provider's main one. */
  readonly dialect: string | null;
  /** Absent: the deployment serves every request. */
  readonly when?: RequestTraits;
  readonly priority: number;
  readonly weight: number;
  readonly quirks: Quirks;
  readonly mapping?: RequestMapping;
  readonly timeouts?: DeploymentTimeouts;
  /** The deployment's price history; empty: the model's applies. */
  readonly prices: readonly PriceVersion[];
}

/** Options that media models accept; checked before a hold is created. */
export interface MediaSupport {
  readonly sizes?: readonly string[];
  readonly qualities?: readonly string[];
  readonly styles?: readonly string[];
  readonly backgrounds?: readonly string[];
  readonly durations?: readonly number[] | { readonly min: number; readonly max: number; readonly step?: number };
  readonly resolutions?: readonly string[];
  readonly aspect_ratios?: readonly string[];
  readonly fps?: number;
  readonly audio?: 'always' | 'optional' | 'never';
  readonly formats?: readonly string[];
  /** Hertz. */
  readonly sample_rates?: readonly number[];
  readonly voices?: readonly string[];
  /** Maximum characters of the text to speak. */
  readonly max_characters?: number;
  /** Maximum per request; default: the contract's 10. */
  readonly max_images?: number;
  readonly first_frame?: boolean;
  readonly last_frame?: boolean;
  readonly references?: boolean;
}

/** A model as requests see it: an immutable snapshot row, shared by all requests until the catalogue changes. */
export interface CatalogModel {
  /** `<vendor>/<model_name>`. */
  readonly id: string;
  readonly displayName: string;
  readonly modality: Modality;
  readonly inputModalities: readonly string[];
  readonly outputModalities: readonly string[];
  /** Unix seconds. */
  readonly createdAt: number;
  readonly contextLength: number | null;
  readonly maxOutputTokens: number | null;
  readonly features: ModelFeatures;
  /** Seed of the token estimate. */
  readonly tokensPerByte: number;
  readonly media: MediaSupport | null;
  /** Across all callers. */
  readonly limits: RateLimits | null;
  /** Enabled deployments of configured providers, best priority first. Never empty. */
  readonly deployments: readonly Deployment[];
  readonly prices: readonly PriceVersion[];
}

/** The price version in force, and its period: `fromMs` inclusive, `untilMs` exclusive. */
export interface ActivePrice {
  readonly version: PriceVersion | null;
  readonly fromMs: number;
  readonly untilMs: number;
}

/**
 * Finds the version in force at `nowMs`. Of those that have begun and not ended, an operator's takes precedence over
 * the files', and otherwise the one that began last. A temporary price therefore overrides a permanent one until it
 * ends, and new files do not override an operator's price.
 */
export function findActivePrice(history: readonly PriceVersion[], nowMs: number): ActivePrice {
  let version: PriceVersion | null = null;
  let fromMs = -Infinity;
  let untilMs = Infinity;
  for (const each of history) {
    const endMs = each.effectiveToMs ?? Infinity;
    for (const boundaryMs of [each.effectiveFromMs, endMs]) {
      if (boundaryMs <= nowMs) fromMs = Math.max(fromMs, boundaryMs);
      else untilMs = Math.min(untilMs, boundaryMs);
    }
    const inForce = each.effectiveFromMs <= nowMs && nowMs < endMs;
    if (inForce && (version === null || goesBefore(each, version))) version = each;
  }
  return { version, fromMs, untilMs };
}

function goesBefore(one: PriceVersion, other: PriceVersion): boolean {
  if (one.byOperator !== other.byOperator) return one.byOperator;
  return one.effectiveFromMs > other.effectiveFromMs;
}
