import { divideCeiling, type Micro } from '../common/micro';
import type { Price, TokenRates } from '../models/catalog-model';
import type { UsageVector } from '../providers/contract/usage';

/** What decides the row of a price besides the counts. */
export interface PricedDetails {
  readonly size?: string;
  readonly quality?: string;
  readonly resolution?: string;
  readonly audio?: boolean;
  /**
   * Whether the cost is only estimated, before the call or for want of a report: rows marked `estimate_only` count then and
   * only then, and rows of images stand in for the tokens of what is drawn.
   */
  readonly estimate?: boolean;
}

/**
 * Sums are kept in 60-millionths of a micro-unit: the smallest fraction that any of the units can produce (a token is a
 * millionth of its rate, a transcribed microsecond a 60-millionth). So there is one division, and it rounds up.
 */
const DENOMINATOR = 60_000_000n;
const PER_MILLION = 60n;
const PER_THOUSAND = 60_000n;
const MICROSECONDS = 1_000_000;

const NO_DETAILS: PricedDetails = {};
const ESTIMATE: PricedDetails = { estimate: true };

/** The same details for a cost that is only estimated, before the call. */
export function estimating(details: PricedDetails | undefined): PricedDetails {
  return details === undefined ? ESTIMATE : { ...details, estimate: true };
}

type ScaledRates = Readonly<Record<keyof TokenUsage, bigint>>;
type TokenUsage = Omit<UsageVector, 'images' | 'seconds' | 'characters'>;

interface Tier {
  readonly aboveInputTokens: number;
  readonly rates: ScaledRates;
}

/** Turns a catalogue price into integers that need only be multiplied. Once per price version, not per request. */
export function compilePrice(price: Price): CompiledPrice {
  return new CompiledPrice(price);
}

export class CompiledPrice {
  private readonly baseRates: ScaledRates | null;
  /** Highest threshold first: the first one exceeded is the one that counts. */
  private readonly tiers: readonly Tier[];
  private readonly perRequest: bigint;
  private readonly perCharacter: bigint | null;

  constructor(private readonly price: Price) {
    const { tokens, request, speech } = price;
    this.baseRates = tokens === undefined ? null : scaleRates(tokens.per_1m_micro);
    this.tiers = (tokens?.tiers ?? [])
      .map((tier) => ({ aboveInputTokens: tier.above_input_tokens, rates: scaleRates(tier.per_1m_micro) }))
      .toSorted((left, right) => right.aboveInputTokens - left.aboveInputTokens);
    this.perRequest = request === undefined ? 0n : BigInt(request.per_request_micro) * DENOMINATOR;
    this.perCharacter = speech === undefined ? null : BigInt(speech.per_1k_chars_micro) * PER_THOUSAND;
  }

  /** Whether the tokens that a provider reports decide what is charged, be it beside other units. */
  get isByTokens(): boolean {
    return this.baseRates !== null;
  }

  /**
   * The cost in micro-units, rounded up once. `null`: the price has no row for what was used, so it must not be sold
   * (decision *unpriced*). `usage` holds sane counts (`sanitizeUsage`).
   */
  costMicro(usage: UsageVector, details: PricedDetails = NO_DETAILS): Micro | null {
    const media = this.mediaCost(usage, details);
    if (media === null) {
      return null;
    }
    let total = this.perRequest + media;
    let isPriced = this.price.request !== undefined || media > 0n || this.hasMatchingUnit(usage);
    if (this.baseRates !== null) {
      const counted = details.estimate === true && this.hasImageRows && usage.images > 0 ? undrawn(usage) : usage;
      total += tokenCost(counted, this.ratesFor(counted, this.baseRates));
      isPriced = true;
    }
    if (this.perCharacter !== null && usage.characters > 0) {
      total += this.perCharacter * BigInt(usage.characters);
      isPriced = true;
    }
    return isPriced ? divideCeiling(total, DENOMINATOR) : null;
  }

  /** Strictly more than the threshold, cached input included; then the whole request is billed at the tier's rates. */
  private ratesFor(usage: UsageVector, baseRates: ScaledRates): ScaledRates {
    if (this.tiers.length === 0) {
      return baseRates;
    }
    const input =
      usage.inputText +
      usage.inputCacheRead +
      usage.inputCacheWrite5m +
      usage.inputCacheWrite1h +
      usage.inputImage +
      usage.inputAudio;
    return this.tiers.find((tier) => input > tier.aboveInputTokens)?.rates ?? baseRates;
  }

  /** `null`: there are rows, and none is for this. */
  private mediaCost(usage: UsageVector, details: PricedDetails): bigint | null {
    const { image, video, music, transcription } = this.price;
    let total = 0n;
    if (image !== undefined && usage.images > 0 && (details.estimate === true || image.estimate_only !== true)) {
      const row = image.rows.find(
        ({ size, quality }) => matches(size, details.size) && matches(quality, details.quality),
      );
      if (row === undefined) {
        return null;
      }
      total += BigInt(row.per_image_micro) * BigInt(usage.images) * DENOMINATOR;
    }
    if (video !== undefined && usage.seconds > 0) {
      const row = video.rows.find(
        ({ resolution, audio }) => matches(resolution, details.resolution) && matches(audio, details.audio ?? false),
      );
      if (row === undefined) {
        return null;
      }
      const seconds = Math.max(usage.seconds, row.min_seconds ?? 0);
      total += BigInt(row.per_second_micro) * microseconds(seconds) * PER_MILLION;
      total += BigInt(video.per_job_micro ?? 0) * DENOMINATOR;
    }
    if (music !== undefined && usage.seconds > 0) {
      total += BigInt(music.per_second_micro ?? 0) * microseconds(usage.seconds) * PER_MILLION;
      total += BigInt(music.per_job_micro ?? 0) * DENOMINATOR;
    }
    if (transcription !== undefined && usage.seconds > 0) {
      const step = microseconds(transcription.round_up_to_s ?? 0);
      const duration = microseconds(usage.seconds);
      const billed = step === 0n ? duration : divideCeiling(duration, step) * step;
      total += BigInt(transcription.per_minute_micro) * billed;
    }
    return total;
  }

  private get hasImageRows(): boolean {
    return this.price.image !== undefined;
  }

  /** A rate of zero is a price too: free is not the same as unpriced. */
  private hasMatchingUnit(usage: UsageVector): boolean {
    const { image, video, music, transcription } = this.price;
    return (
      (image !== undefined && usage.images > 0 && image.estimate_only !== true) ||
      ((video ?? music ?? transcription) !== undefined && usage.seconds > 0)
    );
  }
}

function undrawn(usage: UsageVector): UsageVector {
  return { ...usage, outputImage: 0 };
}

function tokenCost(usage: UsageVector, rates: ScaledRates): bigint {
  let total = 0n;
  // A request uses two or three of the ten classes; the others cost a comparison.
  for (const tokenClass of TOKEN_CLASSES) {
    const count = usage[tokenClass];
    if (count > 0) {
      total += BigInt(count) * rates[tokenClass];
    }
  }
  return total;
}

const TOKEN_CLASSES = [
  'inputText',
  'outputText',
  'inputCacheRead',
  'outputReasoning',
  'inputCacheWrite5m',
  'inputCacheWrite1h',
  'inputImage',
  'inputAudio',
  'outputImage',
  'outputAudio',
] as const satisfies readonly (keyof TokenUsage)[];

/** A class without a rate of its own costs what plain input or output costs. */
function scaleRates(rates: TokenRates): ScaledRates {
  return {
    inputText: scale(rates.input),
    inputCacheRead: scale(rates.cache_read ?? rates.input),
    inputCacheWrite5m: scale(rates.cache_write_5m ?? rates.input),
    inputCacheWrite1h: scale(rates.cache_write_1h ?? rates.input),
    inputImage: scale(rates.image_in ?? rates.input),
    inputAudio: scale(rates.audio_in ?? rates.input),
    outputText: scale(rates.output),
    outputReasoning: scale(rates.reasoning ?? rates.output),
    outputImage: scale(rates.image_out ?? rates.output),
    outputAudio: scale(rates.audio_out ?? rates.output),
  };
}

/** A row that does not mention a property, or says `'*'`, is for all of its values. */
function matches<Value>(rowValue: Value | '*' | undefined, value: Value | undefined): boolean {
  return rowValue === undefined || rowValue === '*' || rowValue === value;
}

function scale(ratePerMillion: number): bigint {
  return BigInt(ratePerMillion) * PER_MILLION;
}

/** Providers report decimals; the nearest microsecond is what they meant. */
function microseconds(seconds: number): bigint {
  return BigInt(Math.round(seconds * MICROSECONDS));
}
