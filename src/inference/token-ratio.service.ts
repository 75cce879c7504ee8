import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import type { Redis } from 'ioredis';
import { PeriodicTask } from '../common/periodic-task';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import type { CatalogModel } from '../models/catalog-model';
import { inputTokensOf, type UsageVector } from '../providers/contract/usage';
import { REDIS } from '../redis/redis.module';
import type { PromptMeasure } from './token-estimate';

/** What a new observation counts: some fifty of them make the ratio their own. */
const NEWEST_WEIGHT = 0.02;
/** No tokenizer in use is beyond these, whatever it is fed with. */
const LOWEST_RATIO = 0.12;
const HIGHEST_RATIO = 0.6;
/** Of a shorter prompt, what the chat template adds says more than the text. */
const LEAST_TEXT_BYTES = 1_024;
/** The same where images, or many short messages, make up more of the tokens. */
const MOST_FIXED_SHARE = 0.25;

const SHARING_PAUSE_MS = 60_000;
/** Models that nobody has used for so long begin anew. */
const LIFETIME_SECONDS = 30 * 86_400;

interface Ratio {
  /** The catalogue's value; another one starts the ratio anew. */
  readonly seed: number;
  tokensPerByte: number;
  /** Since it was last shared. */
  observed: boolean;
}

type RatedModel = Pick<CatalogModel, 'id' | 'tokensPerByte'>;

/**
 * How many tokens each model makes of a byte, learned from the usage that providers report. It starts at the catalogue's
 * `tokens_per_byte`. Requests read and change it in memory; once a minute the processes agree on it through Redis, where it
 * also outlives them. Without Redis each goes by what it sees itself.
 */
@Injectable()
export class TokenRatios implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(TokenRatios.name);
  private readonly ratios = new Map<string, Ratio>();
  /** What Redis held when it was last read, by field. */
  private shared: Readonly<Record<string, string>> = {};
  /** Installations that share a Redis are told apart by their database. */
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

  /** Learns from a prompt of which the provider has told the tokens. */
  observe(model: RatedModel, { textBytes, fixedTokens }: PromptMeasure, reported: UsageVector): void {
    const tokens = inputTokensOf(reported);
    if (textBytes < LEAST_TEXT_BYTES || fixedTokens > tokens * MOST_FIXED_SHARE) return;
    const sample = Math.min(Math.max((tokens - fixedTokens) / textBytes, LOWEST_RATIO), HIGHEST_RATIO);
    const ratio = this.entry(model);
    ratio.tokensPerByte += NEWEST_WEIGHT * (sample - ratio.tokensPerByte);
    ratio.observed = true;
  }

  /**
   * Meets the others halfway. Sums of changes would overshoot: two processes that see the same traffic learn the same.
   * @throws Error when Redis is away
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
