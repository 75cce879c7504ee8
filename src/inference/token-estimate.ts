/**
 * Token estimates without a tokenizer: bytes times a ratio. A tokenizer is exact for one vendor only, costs a hundred
 * times more, and blocks the event loop on hostile text.
 */
import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { Cron, CronExpression } from '@nestjs/schedule';
import type { RedisClient } from '../core/redis/redis-client';
import { REDIS } from '../core/redis/redis.module';
import { scheduled } from '../core/scheduling/scheduling.module';
import type { CatalogModel } from '../models/catalog-model';
import { inputTokensOf, NO_USAGE, outputTokensOf, type UsageVector } from '../providers/contract/usage';

/** Assumed for models with an unknown context length: larger than that of any model. */
const LONGEST_CONTEXT = 2_097_152;

/** Framing added by a chat template to each message. */
const TOKENS_PER_MESSAGE = 4;
const TOKENS_PER_LOW_DETAIL_IMAGE = 85;
const TOKENS_PER_IMAGE = 1_000;
const TOKENS_PER_AUDIO_SECOND = 32;
/** Compressed speech of ordinary quality: base64 characters of one second. */
const BASE64_CHARACTERS_PER_AUDIO_SECOND = 21_000;

/** The size of a prompt in the units that matter for its price. */
export interface PromptMeasure {
  textBytes: number;
  /** Tokens that do not depend on the model's ratio: framing, images, audio. */
  fixedTokens: number;
  /** The longest cache that a client asks the vendor to write; absent: none. */
  cacheWrite?: 'short' | 'long';
}

export function promptTokens(measure: PromptMeasure, tokensPerByte: number): number {
  return Math.ceil(measure.textBytes * tokensPerByte) + measure.fixedTokens;
}

export function outputTokens(bytes: number, tokensPerByte: number): number {
  return Math.ceil(bytes * tokensPerByte);
}

export function textUsage(inputTokens: number, completionTokens: number): UsageVector {
  return { ...NO_USAGE, inputText: inputTokens, outputText: completionTokens };
}

/** The estimate, with input or output replaced by the usage that the provider did report. */
export function withReported(estimate: UsageVector, reported: UsageVector | null): UsageVector {
  if (reported === null) return estimate;
  if (inputTokensOf(reported) > 0) return { ...reported, outputText: estimate.outputText };
  return outputTokensOf(reported) > 0 ? { ...reported, inputText: estimate.inputText } : estimate;
}

/** Whether the usage fits the model's context length and output limit. */
export function fitsModel(usage: UsageVector, model: CatalogModel, promptCount = 1): boolean {
  const contextLimit = model.contextLength ?? LONGEST_CONTEXT;
  const outputLimit = Math.max(contextLimit, model.maxOutputTokens ?? 0);
  return inputTokensOf(usage) <= contextLimit * promptCount && outputTokensOf(usage) <= outputLimit;
}

/** Adds every message's text and parts; base64 data is never counted as text. */
export function measureMessages(messages: readonly Readonly<Record<string, unknown>>[], measure: PromptMeasure): void {
  for (const message of messages) {
    measure.fixedTokens += TOKENS_PER_MESSAGE;
    for (const name in message) {
      const value = message[name];
      if (name === 'cache_control') noteCacheWrite(value, measure);
      if (name === 'content' && Array.isArray(value)) measureParts(value, measure);
      else measureText(value, measure);
    }
  }
}

/** Adds every string, and every name, of a JSON value: tool definitions, schemas, tool calls. */
export function measureText(value: unknown, measure: PromptMeasure): void {
  if (typeof value === 'string') {
    measure.textBytes += Buffer.byteLength(value);
  } else if (Array.isArray(value)) {
    for (const item of value) measureText(item, measure);
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      measure.textBytes += name.length;
      if (name === 'cache_control') noteCacheWrite(member, measure);
      measureText(member, measure);
    }
  } else if (value !== null && value !== undefined) {
    measure.textBytes += 4;
  }
}

/** @param control the `cache_control` of a request, a message, a part or a tool, as Claude models take it */
export function noteCacheWrite(control: unknown, measure: PromptMeasure): void {
  if (typeof control !== 'object' || control === null) return;
  const isLong = (control as { ttl?: unknown }).ttl === '1h';
  if (isLong || measure.cacheWrite === undefined) measure.cacheWrite = isLong ? 'long' : 'short';
}

/**
 * The 12 hours of OpenAI's `prompt_cache_options`, or of the `prompt_cache_breakpoint` of a part. OpenAI makes shorter
 * writes unasked.
 */
export function noteLongCacheWrite(options: unknown, measure: PromptMeasure): void {
  if (typeof options !== 'object' || options === null) return;
  if ((options as { ttl?: unknown }).ttl === '12h') measure.cacheWrite = 'long';
}

function measureParts(parts: readonly unknown[], measure: PromptMeasure): void {
  for (const part of parts as readonly PromptPart[]) {
    noteLongCacheWrite(part.prompt_cache_breakpoint, measure);
    const mediaTokens = mediaTokensOf(part);
    if (mediaTokens === null) {
      measureText(part, measure);
    } else {
      measure.fixedTokens += mediaTokens;
      noteCacheWrite(part.cache_control, measure);
    }
  }
}

/** The members of a part that are read here, with whatever values. */
interface PromptPart {
  readonly type?: unknown;
  readonly image_url?: { readonly detail?: unknown };
  readonly input_audio?: { readonly data?: unknown };
  readonly cache_control?: unknown;
  readonly prompt_cache_breakpoint?: unknown;
}

/** The estimated tokens of an image, a recording or a file; `null` for other parts. */
function mediaTokensOf({ type, image_url: image, input_audio: audio }: PromptPart): number | null {
  switch (type) {
    case 'image_url':
      return image?.detail === 'low' ? TOKENS_PER_LOW_DETAIL_IMAGE : TOKENS_PER_IMAGE;
    case 'input_audio': {
      const characters = typeof audio?.data === 'string' ? audio.data.length : 0;
      return Math.ceil(characters / BASE64_CHARACTERS_PER_AUDIO_SECOND) * TOKENS_PER_AUDIO_SECOND;
    }
    case 'file':
      return TOKENS_PER_IMAGE;
    default:
      return null;
  }
}

/** Weight of a new observation: about fifty of them determine the ratio. */
const NEWEST_WEIGHT = 0.02;
/** Bounds of real tokenizers on any text. */
const LOWEST_RATIO = 0.12;
const HIGHEST_RATIO = 0.6;
/** In shorter prompts the chat template distorts the ratio. */
const MIN_TEXT_BYTES = 1_024;
/** Prompts with a higher share of fixed tokens (images, many short messages) are ignored too. */
const MAX_FIXED_SHARE = 0.25;

const RATIOS_KEY = 'gateway:token-ratios';
/** Ratios of models unused for this long are reset. */
const LIFETIME_SECONDS = 30 * 86_400;

interface Ratio {
  /** The catalogue's value; a change resets the ratio. */
  readonly seed: number;
  tokensPerByte: number;
  /** Whether it has changed since it was last shared. */
  observed: boolean;
}

type RatedModel = Pick<CatalogModel, 'id' | 'tokensPerByte'>;

/**
 * Tokens per byte of each model, learned from reported usage and starting at the catalogue's `tokens_per_byte`.
 * Requests read and update it in memory; once a minute the processes average it through Redis, which also preserves it
 * across restarts. Without Redis each process uses only its own observations.
 */
@Injectable()
export class TokenRatios implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(TokenRatios.name);
  private readonly ratios = new Map<string, Ratio>();
  /** The last values read from Redis, by field. */
  private shared: Readonly<Record<string, string>> = {};

  constructor(@Inject(REDIS) private readonly redis: RedisClient) {}

  onApplicationBootstrap(): Promise<void> {
    return this.shareScheduled();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.shareScheduled();
  }

  @Cron(CronExpression.EVERY_MINUTE, scheduled('inference.token-ratios'))
  async shareScheduled(): Promise<void> {
    await this.share().catch((error: unknown) => {
      this.logger.debug(`the token ratios could not be shared: ${String(error)}`);
    });
  }

  /** Tokens per byte of text. */
  of(model: RatedModel): number {
    return this.entry(model).tokensPerByte;
  }

  /** Learns from the reported token count of a prompt. */
  observe(model: RatedModel, { textBytes, fixedTokens }: PromptMeasure, reported: UsageVector): void {
    const tokens = inputTokensOf(reported);
    if (textBytes < MIN_TEXT_BYTES || fixedTokens > tokens * MAX_FIXED_SHARE) return;
    const sample = Math.min(Math.max((tokens - fixedTokens) / textBytes, LOWEST_RATIO), HIGHEST_RATIO);
    const ratio = this.entry(model);
    ratio.tokensPerByte += NEWEST_WEIGHT * (sample - ratio.tokensPerByte);
    ratio.observed = true;
  }

  /**
   * Averages with the shared value. Adding up changes would overshoot: processes with the same traffic learn the same.
   * @throws Error when Redis is unavailable
   */
  async share(): Promise<void> {
    this.shared = await this.redis.hgetall(RATIOS_KEY);
    const learned: Record<string, string> = {};
    for (const [id, ratio] of this.ratios) {
      const field = fieldOf(id, ratio.seed);
      const shared = this.sharedRatio(field);
      if (shared !== null) ratio.tokensPerByte = ratio.observed ? (ratio.tokensPerByte + shared) / 2 : shared;
      if (ratio.observed) learned[field] = ratio.tokensPerByte.toFixed(6);
      ratio.observed = false;
    }
    if (Object.keys(learned).length === 0) return;
    await this.redis.hset(RATIOS_KEY, learned);
    await this.redis.expire(RATIOS_KEY, LIFETIME_SECONDS);
  }

  private entry({ id, tokensPerByte: seed }: RatedModel): Ratio {
    let ratio = this.ratios.get(id);
    if (ratio?.seed !== seed) {
      ratio = { seed, tokensPerByte: this.sharedRatio(fieldOf(id, seed)) ?? seed, observed: false };
      this.ratios.set(id, ratio);
    }
    return ratio;
  }

  private sharedRatio(field: string): number | null {
    const value = Number(this.shared[field]);
    return value >= LOWEST_RATIO && value <= HIGHEST_RATIO ? value : null;
  }
}

function fieldOf(id: string, seed: number): string {
  return `${id} ${seed}`;
}
