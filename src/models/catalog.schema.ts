/**
 * The schema of catalogue files. Strict: an unknown key is an error, because a mistyped limit or price that is silently
 * ignored costs money. All amounts are integers: 1 micro-unit is 0.000001 USD.
 */
import { z } from 'zod';
import { MODALITIES } from '../core/types/modality';
import type { Quirks } from '../providers/contract/provider-call';
import { type FieldTarget, MAPPED_FIELDS, type MappedOutput } from '../providers/contract/request-mapping';
import type { MediaSupport, Price, RequestTraits, TokenRates } from './catalog-model';
import { conflictingMappings, missingMappings } from './mapping-review';

const count = z.int().nonnegative();
const positive = z.int().positive();
const limit = z
  .int()
  .min(1)
  .max(2 ** 31 - 1);
const timeoutMs = z.int().min(1).max(3_600_000);
const label = z.string().min(1).max(200);
const day = z.iso.date({ error: 'expected a date, YYYY-MM-DD' });
export const instantSchema = z.union([z.iso.date(), z.iso.datetime({ offset: true })], {
  error: 'expected a date (YYYY-MM-DD) or an ISO 8601 instant with its offset',
});
const MODEL_ID = /^[a-z0-9][a-z0-9._-]*\/[A-Za-z0-9][A-Za-z0-9._:@+-]*$/;
const modelId = z.string().max(200).regex(MODEL_ID, 'expected <vendor>/<name>');

const tokenRates = z.strictObject({
  input: count,
  output: count,
  cache_read: count.optional(),
  cache_write_5m: count.optional(),
  cache_write_1h: count.optional(),
  reasoning: count.optional(),
  image_in: count.optional(),
  image_cache_read: count.optional(),
  image_out: count.optional(),
  audio_in: count.optional(),
  audio_cache_read: count.optional(),
  audio_out: count.optional(),
}) satisfies z.ZodType<TokenRates>;

const tokenTiers = z
  .array(z.strictObject({ above_input_tokens: positive, per_1m_micro: tokenRates }))
  .min(1)
  .refine(
    (tiers) =>
      tiers.every((tier, at) => at === 0 || tier.above_input_tokens > (tiers[at - 1]?.above_input_tokens ?? 0)),
    'tiers must rise: each above_input_tokens is larger than the one before',
  );

/** The schema of `price_version.content`. */
export const priceContentSchema = z.strictObject({
  tokens: z.strictObject({ per_1m_micro: tokenRates, tiers: tokenTiers.optional() }).optional(),
  image: z
    .strictObject({
      rows: z
        .array(z.strictObject({ size: label.optional(), quality: label.optional(), per_image_micro: count }))
        .min(1),
      estimate_only: z.boolean().optional(),
    })
    .optional(),
  video: z
    .strictObject({
      rows: z
        .array(
          z.strictObject({
            resolution: label.optional(),
            audio: z.union([z.boolean(), z.literal('*')]).optional(),
            per_second_micro: count,
            min_seconds: positive.optional(),
          }),
        )
        .min(1),
      per_job_micro: count.optional(),
    })
    .optional(),
  music: z
    .strictObject({ per_second_micro: count.optional(), per_job_micro: count.optional() })
    .refine((music) => Object.keys(music).length > 0, 'needs per_second_micro or per_job_micro')
    .optional(),
  speech: z.strictObject({ per_1k_chars_micro: count }).optional(),
  transcription: z
    .strictObject({ per_minute_micro: count, round_up_to_s: positive.optional(), min_seconds: positive.optional() })
    .optional(),
  request: z.strictObject({ per_request_micro: count }).optional(),
  vendor_cost: z.strictObject({ per_usd_micro: count }).optional(),
  unit: z.strictObject({ per_unit_micro: count }).optional(),
  megapixel: z.strictObject({ per_megapixel_micro: count }).optional(),
}) satisfies z.ZodType<Price>;

const priceSchema = z
  .strictObject({
    ...priceContentSchema.shape,
    effective_from: instantSchema,
    effective_to: instantSchema.optional(),
    currency: z.literal('USD').default('USD'),
    /** Source of the amounts: a URL, or the name and version of a price list. */
    source: z.string().min(1).max(500),
    checked_at: day,
  })
  .refine((price) => price.effective_to === undefined || endMs(price.effective_to) > startMs(price.effective_from), {
    path: ['effective_to'],
    error: 'must be later than effective_from',
  });

const priceList = z.array(priceSchema).superRefine((prices, context) => {
  const seen = new Set<number>();
  prices.forEach((price, at) => {
    const from = startMs(price.effective_from);
    if (seen.has(from)) {
      context.addIssue({ code: 'custom', path: [at, 'effective_from'], message: 'two prices begin at the same time' });
    }
    seen.add(from);
  });
});

const quirks = z.strictObject({
  maxTokensField: z.enum(['max_tokens', 'max_completion_tokens']).optional(),
  streamUsage: z.enum(['include_usage', 'none']).optional(),
  streamOnly: z.boolean().optional(),
  streamAbove: z.int().min(0).optional(),
  developerRole: z.boolean().optional(),
  includeObfuscation: z.boolean().optional(),
  reasoningReplay: z.boolean().optional(),
  reasoningField: z.literal('reasoning').optional(),
  reasoningTag: z.enum(['think', 'reasoning']).optional(),
  reasoningSummary: z.enum(['auto', 'concise', 'detailed']).optional(),
  reasoningExcluded: z.boolean().optional(),
  trustFinishReason: z.boolean().optional(),
  plainEmbeddings: z.boolean().optional(),
  int8Embeddings: z.boolean().optional(),
  embeddingBatch: z.strictObject({ inputs: z.int().min(1), tokens: z.int().min(1).optional() }).optional(),
  inputImageUrls: z.enum(['check', 'inline']).optional(),
  toolCallIds: z.boolean().optional(),
  imagesPerCall: z.int().min(1).max(10).optional(),
  imageUrls: z.boolean().optional(),
  imageResponseFormat: z.enum(['b64_json', 'base64', 'none']).optional(),
  dropFields: z.array(label).optional(),
  imageSize: z.enum(['width_height', 'aspect_ratio']).optional(),
  imageEdits: z.enum(['json', 'none']).optional(),
  imageOutput: z.boolean().optional(),
  implicitCacheWrites: z.boolean().optional(),
  maskColor: z.enum(['black', 'white']).optional(),
  rejectFields: z.array(label).optional(),
  acceptFields: z.array(label).optional(),
  fieldNames: z.record(label, label).optional(),
  dropMessageFields: z.array(label).optional(),
  acceptMessageFields: z.array(label).optional(),
  toolParameters: z.literal('required').optional(),
  joinTextParts: z.boolean().optional(),
  forcedTools: z.boolean().optional(),
  toolChoiceWords: z.boolean().optional(),
  jsonSchemas: z.boolean().optional(),
  shortToolCallIds: z.boolean().optional(),
  oneSystemMessage: z.boolean().optional(),
  strictRoles: z.boolean().optional(),
  reasoningEfforts: z.record(label, label).optional(),
  fixedEfforts: z.boolean().optional(),
  reasoningSwitch: z.boolean().optional(),
  minTemperature: z.number().min(0).max(2).optional(),
  chatResponseFormat: z.boolean().optional(),
  quotaIsRateLimit: z.boolean().optional(),
  plainRefusals: z.boolean().optional(),
  citations: z.boolean().optional(),
}) satisfies z.ZodType<Quirks>;

const DIALECTS = [
  'openai-chat',
  'openai-media',
  'openai-responses',
  'openai-videos',
  'anthropic-messages',
  'gemini-generate',
  'fal-queue',
  'replicate',
] as const;

const conditions = z.strictObject({
  tools: z.boolean().optional(),
  image: z.boolean().optional(),
  last_frame: z.boolean().optional(),
  references: z.boolean().optional(),
}) satisfies z.ZodType<RequestTraits>;

/** Names that every object inherits: a path must not reach the prototypes of this process. */
const namesOwnFields = (path: string): boolean => !/(?:^|\.)(?:__proto__|constructor|prototype)(?![\w$])/.test(path);
const OWN_FIELDS = 'must not name __proto__, constructor or prototype';
const fieldPath = z
  .string()
  .regex(/^\w+(?:\.\w+)*$/, 'expected the name of a field, or a path with dots')
  .refine(namesOwnFields, OWN_FIELDS);
const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const fieldTarget = z.strictObject({
  to: fieldPath,
  values: z.record(z.string(), scalar).optional(),
  format: z.string().includes('{}', { error: 'must contain {}' }).optional(),
  as: z.enum(['text', 'milliseconds', 'list', 'single', 'width_height', 'width', 'height']).optional(),
}) satisfies z.ZodType<FieldTarget>;
const fieldMap = z.partialRecord(z.enum(MAPPED_FIELDS), z.union([fieldPath, fieldTarget, z.array(fieldTarget)]));
// Zod silently drops the name __proto__ of a record.
const fixedInput = z
  .unknown()
  .refine((given) => !Object.hasOwn(Object(given) as object, '__proto__'), OWN_FIELDS)
  .pipe(z.record(fieldPath, scalar));
const outputPath = z
  .string()
  .regex(/^\$(?:\.\w+|\[\d+\]|\[\*\])*$/, 'expected a path such as $.images[*].url')
  .refine(namesOwnFields, OWN_FIELDS);
const outputPaths = z.strictObject({
  video: outputPath.optional(),
  audio: outputPath.optional(),
  image: outputPath.optional(),
  seconds: outputPath.optional(),
  audio_format: z.enum(['wav', 'pcm']).optional(),
}) satisfies z.ZodType<MappedOutput>;

const deployment = z.strictObject({
  provider: z.string().regex(/^[a-z0-9][a-z0-9-]*$/, 'expected a provider id'),
  upstream_model: label,
  dialect: z.enum(DIALECTS).optional(),
  api_version: label.optional(),
  /** The first day on which the vendor no longer serves the deployment. */
  retires: day.optional(),
  priority: z.int().min(0).max(1000).optional(),
  weight: z.int().min(1).max(1000).optional(),
  quirks: quirks.default({}),
  timeouts: z.strictObject({ first_token_ms: timeoutMs.optional(), idle_ms: timeoutMs.optional() }).optional(),
  when: conditions.optional(),
  map: fieldMap.optional(),
  fixed: fixedInput.optional(),
  output: outputPaths.optional(),
  prices: priceList.default([]),
});

const flag = z.boolean().optional();
const features = z.strictObject({
  tools: flag,
  parallel_tools: flag,
  json_object: flag,
  json_schema: flag,
  vision: flag,
  logprobs: flag,
  streaming: flag,
  /** The model supports text completions; otherwise completions are requested as a chat. */
  completions: flag,
  /** The length of embeddings can be chosen. */
  dimensions: flag,
  /** Reasoning efforts that the model accepts. */
  reasoning: z.array(label).optional(),
  thinking_budget: flag,
  json_with_tools: flag,
  sampling: flag,
  thinking: z.enum(['always', 'default', 'between_tools', 'optional', 'budget']).optional(),
  forced_tools: flag,
  prefill: flag,
  system_mid: flag,
  edit: flag,
  mask: flag,
  needs_mask: flag,
  instructions: flag,
  speed: flag,
  timestamps: z.array(z.enum(['segment', 'word'])).optional(),
});

const labels = z.array(label).min(1).optional();
const media = z.strictObject({
  sizes: labels,
  qualities: labels,
  styles: labels,
  backgrounds: labels,
  durations: z
    .union([z.array(positive).min(1), z.strictObject({ min: positive, max: positive, step: positive.optional() })])
    .optional(),
  resolutions: labels,
  aspect_ratios: labels,
  fps: positive.optional(),
  audio: z.enum(['always', 'optional', 'never']).optional(),
  formats: labels,
  sample_rates: z.array(positive).min(1).optional(),
  voices: labels,
  max_characters: positive.optional(),
  max_images: positive.optional(),
  first_frame: flag,
  last_frame: flag,
  references: flag,
}) satisfies z.ZodType<MediaSupport>;

/** One model of a catalogue file, defaults filled in. */
export const catalogEntrySchema = z
  .strictObject({
    id: modelId,
    display_name: label.optional(),
    modality: z.enum(MODALITIES),
    input_modalities: z.array(z.enum(['text', 'image', 'audio', 'video', 'pdf'])).min(1),
    output_modalities: z.array(z.enum(['text', 'image', 'audio', 'video', 'embedding'])).min(1),
    status: z.enum(['active', 'deprecated', 'disabled']).default('active'),
    released: day.optional(),
    /** The first day on which the model is no longer offered. */
    retires: day.optional(),
    aliases: z.array(modelId).default([]),
    context: positive.optional(),
    max_output: positive.optional(),
    features: features.default({}),
    tokens_per_byte: z.number().min(0.01).max(4).default(0.25),
    deployments: z
      .array(deployment)
      .min(1)
      .refine(
        (list) => new Set(list.map(deploymentKey)).size === list.length,
        'two deployments have the same provider, upstream_model and dialect',
      ),
    media: media.optional(),
    /** Rate limits across all callers; limits of keys and organizations apply in addition. */
    limits: z
      .strictObject({
        rps: limit.optional(),
        rpm: limit.optional(),
        tpm: limit.optional(),
        concurrent: limit.optional(),
      })
      .optional(),
    prices: priceList.default([]),
  })
  .superRefine((entry, context) => {
    entry.deployments.forEach(({ map, fixed, output = {}, when }, index) => {
      const conflicts = conflictingMappings({ map: map ?? {}, fixed });
      for (const { part, message } of conflicts) {
        context.addIssue({ code: 'custom', path: ['deployments', index, ...part.split('.')], message });
      }
      const missing = map === undefined ? [] : missingMappings(entry, { map, output }, when);
      for (const path of missing) {
        const message = 'missing: the model offers it, and the deployment would drop it';
        context.addIssue({ code: 'custom', path: ['deployments', index, ...path.split('.')], message });
      }
    });
  });

export type CatalogEntry = z.output<typeof catalogEntrySchema>;
export type CatalogEntryDeployment = z.output<typeof deployment>;
export type CatalogEntryPrice = z.output<typeof priceSchema>;

/** Identifies a deployment of a model across all versions of the files. */
export function deploymentKey(each: Pick<CatalogEntryDeployment, 'provider' | 'upstream_model' | 'dialect'>): string {
  return JSON.stringify([each.provider, each.upstream_model, each.dialect ?? null]);
}

/** The instant at which a catalogue date begins, in milliseconds since the epoch; a day begins at 00:00 UTC. */
export function startMs(date: string): number {
  return Date.parse(date);
}

/** The instant at which a catalogue date ends: a day at its end, an instant at itself. */
export function endMs(date: string): number {
  return Date.parse(date) + (date.length === 'YYYY-MM-DD'.length ? 86_400_000 : 0);
}
