import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import type { Redis } from 'ioredis';
import { PeriodicTask } from '../core/time/periodic-task';
import { APP_CONFIG, type AppConfig } from '../core/config/app-config';
import type { CatalogModel } from '../models/catalog-model';
import { inputTokensOf, type UsageVector } from '../providers/contract/usage';
import { REDIS } from '../core/redis/redis.module';
import type { PromptMeasure } from './token-estimate';

/** Weight of a new observation: about fifty of them determine the ratio. */
const NEWEST_WEIGHT = 0.02;
/** Bounds of real tokenizers on any text. */
const LOWEST_RATIO = 0.12;
const HIGHEST_RATIO = 0.6;
/** In shorter prompts the chat template distorts the ratio. */
const LEAST_TEXT_BYTES = 1_024;
/** Prompts with a higher share of fixed tokens (images, many short messages) are ignored too. */
const MOST_FIXED_SHARE = 0.25;

const SHARING_PAUSE_MS = 60_000;
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
 * Tokens per byte of each model, learned from reported usage and starting at the catalogue's `tokens_per_byte`. Requests
 * read and update it in memory; once a minute the processes average it through Redis, which also preserves it across
 * restarts. Without Redis each process uses only its own observations.
 */
@Injectable()
export class TokenRatios implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(TokenRatios.name);
  private readonly ratios = new Map<string, Ratio>();
  /** The last values read from Redis, by field. */
  private shared: Readonly<Record<string, string>> = {};
  /** Includes the database name, so that installations can share a Redis. */
  private readonly key: string;
  private readonly task = new PeriodicTask({
    run: () => this.share(),
    onError: (error) => this.logger.debug(`The token ratios could not be shared: ${String(error)}`),
    pauseMs: () => SHARING_PAUSE_MS,
  });

  constructor(
    @Inject(REDIS) private readonly redis: Redis,
    @Inject(APP_CONFIG) { databaseUrl }: Pick<AppConfig, 'databaseUrl'>,
  ) {
    this.key = `gateway:token-ratios:${new URL(databaseUrl ?? 'embedded:').pathname.slice(1)}`;
  }

  onApplicationBootstrap(): Promise<void> {
    return this.task.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.task.stop();
    await this.share().catch(() => undefined);
  }

  /** Tokens per byte of text. */
  of(model: RatedModel): number {
    return this.entry(model).tokensPerByte;
  }

  /** Learns from the reported token count of a prompt. */
  observe(model: RatedModel, { textBytes, fixedTokens }: PromptMeasure, reported: UsageVector): void {
    const tokens = inputTokensOf(reported);
    if (textBytes < LEAST_TEXT_BYTES || fixedTokens > tokens * MOST_FIXED_SHARE) return;
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
    this.shared = await this.redis.hgetall(this.key);
    const learned: Record<string, string> = {};
    for (const [id, ratio] of this.ratios) {
      const field = fieldOf(id, ratio.seed);
      const theirs = this.sharedRatio(field);
      if (theirs !== null) ratio.tokensPerByte = ratio.observed ? (ratio.tokensPerByte + theirs) / 2 : theirs;
      if (ratio.observed) learned[field] = ratio.tokensPerByte.toFixed(6);
      ratio.observed = false;
    }
    if (Object.keys(learned).length === 0) return;
    await this.redis.hset(this.key, learned);
    await this.redis.expire(this.key, LIFETIME_SECONDS);
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
