/**
 * Compares the catalogue with a public price list to detect drift. Such lists disagree with each other and with the
 * vendors, so they are never the catalogue's source.
 */
import { z } from 'zod';
import { findActivePrice, type PriceVersion } from './catalog-model';
import {
  type CatalogEntry,
  type CatalogEntryDeployment,
  type CatalogEntryPrice,
  endMs,
  startMs,
} from './catalog.schema';
import type { LoadedModel } from './load-catalog';

/** Rates in micro-units per million tokens, limits in tokens; absent where the list has none. */
const FIELDS = [
  'input',
  'output',
  'reasoning',
  'cache_read',
  'cache_write_5m',
  'audio_in',
  'audio_out',
  'context',
  'max_output',
] as const;
type Field = (typeof FIELDS)[number];
type Facts = Readonly<Partial<Record<Field, number>>>;

/** The models of a list, by provider and upstream model. */
type PriceList = ReadonlyMap<string, Facts>;

export interface PriceDifference {
  readonly model: string;
  readonly provider: string;
  readonly upstreamModel: string;
  readonly field: Field;
  /** `null`: the catalogue states none. */
  readonly catalogue: number | null;
  readonly listed: number;
}

export interface PriceListDiff {
  readonly differences: readonly PriceDifference[];
  /** Deployments with a token price that the list knows. */
  readonly compared: number;
  /** Deployments that the list does not know, as `provider/upstream_model`. */
  readonly unlisted: readonly string[];
}

const usdPerMillion = z.number().nonnegative().optional();
/**
 * `https://models.dev/api.json`: by provider, then by model
 * (https://github.com/anomalyco/models.dev, `packages/core/src/schema.ts` and `schema-v2.ts`).
 */
const modelsDev = z.record(
  z.string(),
  z.object({
    models: z.record(
      z.string(),
      z.object({
        cost: z
          .object({
            input: usdPerMillion,
            output: usdPerMillion,
            cache_read: usdPerMillion,
            reasoning: usdPerMillion,
            cache_write: usdPerMillion,
            input_audio: usdPerMillion,
            output_audio: usdPerMillion,
          })
          .optional(),
        limit: z.object({ context: z.number().optional(), output: z.number().optional() }).optional(),
      }),
    ),
  }),
);
const usdPerToken = z.number().nonnegative().nullish();
/** `model_prices_and_context_window.json` of LiteLLM: by model, often with the provider as a prefix. */
const liteLlm = z
  .record(
    z.string(),
    z.looseObject({
      // Rules for unlisted models are an entry without a provider.
      litellm_provider: z.string().optional(),
      input_cost_per_token: usdPerToken,
      output_cost_per_token: usdPerToken,
      cache_read_input_token_cost: usdPerToken,
      cache_creation_input_token_cost: usdPerToken,
      output_cost_per_reasoning_token: usdPerToken,
      input_cost_per_audio_token: usdPerToken,
      output_cost_per_audio_token: usdPerToken,
      // The first entry documents the format, so its value is text.
      max_output_tokens: z.unknown().optional(),
    }),
  )
  .refine((models) => Object.values(models).some((model) => model.litellm_provider !== undefined));

/** The providers of the catalogue whose names differ in a list. */
const MODELS_DEV_NAMES: Readonly<Record<string, readonly string[]>> = {
  alibaba: ['qwen'],
  'amazon-bedrock': ['bedrock', 'bedrock-anthropic'],
  'fireworks-ai': ['fireworks'],
  'google-vertex': ['vertex'],
  moonshotai: ['moonshot'],
  // The list's `perplexity` is the Sonar API, which was shut down.
  'perplexity-agent': ['perplexity'],
  togetherai: ['together'],
};
const LITE_LLM_NAMES: Readonly<Record<string, string>> = {
  bedrock_converse: 'bedrock',
  bedrock_mantle: 'bedrock-anthropic',
  cohere_chat: 'cohere',
  dashscope: 'qwen',
  fireworks_ai: 'fireworks',
  gemini: 'google',
  together_ai: 'together',
  'text-completion-openai': 'openai',
  vertex_ai: 'vertex',
};

/**
 * @param content the parsed JSON of models.dev or LiteLLM
 * @throws Error when it is neither
 */
export function diffWithPriceList(models: readonly LoadedModel[], content: unknown, nowMs: number): PriceListDiff {
  const list = readPriceList(content);
  const differences: PriceDifference[] = [];
  const unlisted: string[] = [];
  let compared = 0;
  for (const { entry } of models) {
    for (const deployment of entry.deployments) {
      const own = factsOf(entry, deployment, nowMs);
      if (own === null) continue;
      const { provider, upstream_model: upstreamModel } = deployment;
      const listed = list.get(keyOf(provider, upstreamModel));
      if (listed === undefined) {
        unlisted.push(`${provider}/${upstreamModel}`);
        continue;
      }
      compared++;
      for (const field of FIELDS) {
        const value = listed[field];
        // Lists contain 0 for items that a vendor does not sell.
        if (value === undefined || value === 0 || value === own[field]) continue;
        differences.push({
          model: entry.id,
          provider,
          upstreamModel,
          field,
          catalogue: own[field] ?? null,
          listed: value,
        });
      }
    }
  }
  return { differences, compared, unlisted };
}

function readPriceList(content: unknown): PriceList {
  const byProvider = modelsDev.safeParse(content);
  if (byProvider.success) return readModelsDev(byProvider.data);
  const byModel = liteLlm.safeParse(content);
  if (byModel.success) return readLiteLlm(byModel.data);
  throw new Error('The file is neither the price list of models.dev nor that of LiteLLM.');
}

function readModelsDev(providers: z.output<typeof modelsDev>): PriceList {
  const list = new Map<string, Facts>();
  for (const [name, { models }] of Object.entries(providers)) {
    for (const [model, { cost = {}, limit = {} }] of Object.entries(models)) {
      const facts = {
        input: toMicro(cost.input),
        output: toMicro(cost.output),
        reasoning: toMicro(cost.reasoning),
        cache_read: toMicro(cost.cache_read),
        cache_write_5m: toMicro(cost.cache_write),
        audio_in: toMicro(cost.input_audio),
        audio_out: toMicro(cost.output_audio),
        context: limit.context,
        max_output: limit.output,
      };
      for (const provider of MODELS_DEV_NAMES[name] ?? [name]) list.set(keyOf(provider, model), facts);
    }
  }
  return list;
}

function readLiteLlm(models: z.output<typeof liteLlm>): PriceList {
  const list = new Map<string, Facts>();
  for (const [name, model] of Object.entries(models)) {
    const { litellm_provider: provider } = model;
    if (provider === undefined) continue;
    const facts = {
      input: toMicro(model.input_cost_per_token, 1_000_000),
      output: toMicro(model.output_cost_per_token, 1_000_000),
      cache_read: toMicro(model.cache_read_input_token_cost, 1_000_000),
      cache_write_5m: toMicro(model.cache_creation_input_token_cost, 1_000_000),
      reasoning: toMicro(model.output_cost_per_reasoning_token, 1_000_000),
      audio_in: toMicro(model.input_cost_per_audio_token, 1_000_000),
      audio_out: toMicro(model.output_cost_per_audio_token, 1_000_000),
      // The list's context is the input limit, which other lists do not state.
      max_output: typeof model.max_output_tokens === 'number' ? model.max_output_tokens : undefined,
    };
    const upstreamModel = name.startsWith(`${provider}/`) ? name.slice(provider.length + 1) : name;
    list.set(keyOf(LITE_LLM_NAMES[provider] ?? provider, upstreamModel), facts);
  }
  return list;
}

/** `null`: the deployment has no token price at this time. */
function factsOf(entry: CatalogEntry, deployment: CatalogEntryDeployment, nowMs: number): Facts | null {
  const active = findActivePrice(toHistory(deployment.prices), nowMs).version;
  const tokens = (active ?? findActivePrice(toHistory(entry.prices), nowMs).version)?.price.tokens;
  if (tokens === undefined) return null;
  const { per_1m_micro: rates } = tokens;
  return {
    // A class without a rate costs as much as plain input or output.
    reasoning: rates.output,
    audio_in: rates.input,
    audio_out: rates.output,
    ...rates,
    context: entry.context,
    max_output: entry.max_output,
  };
}

function toHistory(prices: readonly CatalogEntryPrice[]): PriceVersion[] {
  return prices.map((price, at) => ({
    id: String(at),
    effectiveFromMs: startMs(price.effective_from),
    effectiveToMs: price.effective_to === undefined ? null : endMs(price.effective_to),
    byOperator: false,
    price,
  }));
}

function toMicro(usd: number | null | undefined, perTokens = 1): number | undefined {
  return usd == null ? undefined : Math.round(usd * perTokens * 1_000_000);
}

function keyOf(provider: string, upstreamModel: string): string {
  return `${provider} ${upstreamModel.toLowerCase()}`;
}
