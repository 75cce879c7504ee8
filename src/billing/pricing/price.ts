import { toDecimal } from '../../core/types/decimal';
import type { Micro } from '../../core/types/micro';
import type { Price, TokenRates } from '../../models/catalog-model';
import type { UsageVector, VendorBill } from '../../providers/contract/usage';
import { billPriceOf } from './vendor-bill';

/** Options that select a price row besides the counts. */
export interface PricedDetails {
  readonly size?: string;
  readonly quality?: string;
  readonly resolution?: string;
  readonly audio?: boolean;
  /**
   * Whether the cost is an estimate, before the call or because no usage was reported. Only then image rows marked
   * `estimate_only` apply, in place of the tokens of the generated images.
   */
  readonly estimate?: boolean;
}

/** Units that can be counted and charged. */
export type PricedUnit =
  | keyof TokenUsage
  | 'image'
  | 'video_second'
  | 'video_job'
  | 'music_second'
  | 'music_job'
  | 'transcription_minute'
  | 'character'
  | 'request'
  | 'vendor_cost_micro'
  | 'vendor_unit'
  | 'megapixel';

/** One line of a cost: `quantity` at `rateMicro` per `per` units. */
export interface PriceLine {
  readonly unit: PricedUnit;
  readonly quantity: number;
  readonly rateMicro: Micro;
  readonly per: number;
  /** The line's share of the cost. The cost is rounded up once, so several lines below a micro-unit may share one. */
  readonly costMicro: Micro;
}

/** Receives the lines of a cost while they are summed; `scaled` is in 60-millionths of a micro-unit. */
type LineSink = (unit: PricedUnit, quantity: number, rateMicro: number | bigint, per: number, scaled: bigint) => void;

/**
 * Sums are kept in 60-millionths of a micro-unit, the smallest fraction of any unit (a token is a millionth of its
 * rate, a transcribed microsecond a 60-millionth), so that a single division rounds up.
 */
const DENOMINATOR = 60_000_000n;
const PER_MILLION = 60n;
const PER_THOUSAND = 60_000n;

const NO_DETAILS: PricedDetails = {};
const ESTIMATE: PricedDetails = { estimate: true };

/** The same details for an estimate before the call. */
export function estimating(details: PricedDetails | undefined): PricedDetails {
  return details === undefined ? ESTIMATE : { ...details, estimate: true };
}

type ScaledRates = Readonly<Record<keyof TokenUsage, bigint>>;
type TokenUsage = Omit<UsageVector, 'images' | 'seconds' | 'characters' | keyof VendorBill>;

interface Tier {
  readonly aboveInputTokens: number;
  readonly rates: ScaledRates;
}

/** Scales a catalogue price to integers, so that requests only multiply. Runs once per price version. */
export function compilePrice(price: Price): CompiledPrice {
  return new CompiledPrice(price);
}

export class CompiledPrice {
  private readonly baseRates: ScaledRates | null;
  /** Highest threshold first: the first one exceeded applies. */
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

  /** Whether the charge depends on the tokens that a provider reports, alone or with other units. */
  get isByTokens(): boolean {
    return this.baseRates !== null;
  }

  /**
   * The cost in micro-units, rounded up once. `null`: the price has no row for this usage, so it must not be sold.
   * `usage` must be sanitized (`sanitizeUsage`).
   */
  costMicro(usage: UsageVector, details: PricedDetails = NO_DETAILS): Micro | null {
    const total = this.total(usage, details, null);
    return total === null ? null : divideCeiling(total, DENOMINATOR);
  }

  /** The lines that sum up to `costMicro`; `null` if that is `null`. */
  lines(usage: UsageVector, details: PricedDetails = NO_DETAILS): readonly PriceLine[] | null {
    const lines: PriceLine[] = [];
    let sum = 0n;
    const total = this.total(usage, details, (unit, quantity, rateMicro, per, scaled) => {
      const before = divideCeiling(sum, DENOMINATOR);
      sum += scaled;
      const costMicro = divideCeiling(sum, DENOMINATOR) - before;
      lines.push({ unit, quantity, rateMicro: BigInt(rateMicro), per, costMicro });
    });
    return total === null ? null : lines;
  }

  /** Whether the vendor's bill in this usage is charged instead of what the gateway counts. */
  isBilledBy(usage: UsageVector): boolean {
    return billPriceOf(this.price, usage) !== null;
  }

  /** In 60-millionths of a micro-unit; `null`: there is no row for this usage. */
  private total(usage: UsageVector, details: PricedDetails, sink: LineSink | null): bigint | null {
    const bill = details.estimate === true ? null : billPriceOf(this.price, usage);
    if (bill !== null) {
      const { unit, quantity, rateMicro, per } = bill;
      // A vendor's decimals are charged exactly: the smallest bill must not become free.
      const { digits, scale } = toDecimal(quantity);
      const cost = divideCeiling(BigInt(rateMicro) * digits * DENOMINATOR, BigInt(per) * 10n ** BigInt(scale));
      sink?.(unit, quantity, rateMicro, per, cost);
      return cost;
    }
    const media = this.mediaCost(usage, details, sink);
    if (media === null) {
      return null;
    }
    let total = this.perRequest + media;
    if (this.price.request !== undefined) {
      sink?.('request', 1, this.price.request.per_request_micro, 1, this.perRequest);
    }
    let isPriced = this.price.request !== undefined || media > 0n || this.hasMatchingUnit(usage);
    if (this.baseRates !== null) {
      const counted = details.estimate === true && this.estimatesDrawing && usage.images > 0 ? undrawn(usage) : usage;
      total += tokenCost(counted, this.ratesFor(counted, this.baseRates), sink);
      isPriced = true;
    }
    if (this.perCharacter !== null && usage.characters > 0) {
      const cost = this.perCharacter * BigInt(usage.characters);
      sink?.('character', usage.characters, this.perCharacter / PER_THOUSAND, 1_000, cost);
      total += cost;
      isPriced = true;
    }
    return isPriced ? total : null;
  }

  /**
   * A tier applies strictly above its threshold, cached input included; the whole request is then billed at its rates.
   */
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

  /** `null`: there are rows, but none matches. */
  private mediaCost(usage: UsageVector, details: PricedDetails, sink: LineSink | null): bigint | null {
    const { image, video, music, transcription } = this.price;
    let total = 0n;
    if (image !== undefined && usage.images > 0 && (details.estimate === true || image.estimate_only !== true)) {
      const row = image.rows.find(
        ({ size, quality }) => matches(size, details.size) && matches(quality, details.quality),
      );
      if (row === undefined) {
        return null;
      }
      const cost = BigInt(row.per_image_micro) * BigInt(usage.images) * DENOMINATOR;
      sink?.('image', usage.images, row.per_image_micro, 1, cost);
      total += cost;
    }
    if (video !== undefined && usage.seconds > 0) {
      const row = video.rows.find(
        ({ resolution, audio }) => matches(resolution, details.resolution) && matches(audio, details.audio ?? false),
      );
      if (row === undefined) {
        return null;
      }
      const seconds = Math.max(usage.seconds, row.min_seconds ?? 0);
      const { per_job_micro: perJob } = video;
      total += secondsCost('video', seconds, row.per_second_micro, sink) + jobCost('video', perJob, sink);
    }
    if (music !== undefined && usage.seconds > 0) {
      const { per_second_micro: perSecond, per_job_micro: perJob } = music;
      total += secondsCost('music', usage.seconds, perSecond, sink) + jobCost('music', perJob, sink);
    }
    if (transcription !== undefined && usage.seconds > 0) {
      const step = millionths(transcription.round_up_to_s ?? 0);
      const duration = millionths(Math.max(usage.seconds, transcription.min_seconds ?? 0));
      const billed = step === 0n ? duration : divideCeiling(duration, step) * step;
      const cost = BigInt(transcription.per_minute_micro) * billed;
      sink?.('transcription_minute', Number(billed) / 60_000_000, transcription.per_minute_micro, 1, cost);
      total += cost;
    }
    return total;
  }

  private get estimatesDrawing(): boolean {
    return this.price.image?.estimate_only === true;
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

type TimedMedia = 'video' | 'music';

function secondsCost(kind: TimedMedia, seconds: number, perSecond: number | undefined, sink: LineSink | null): bigint {
  if (perSecond === undefined) return 0n;
  const cost = BigInt(perSecond) * millionths(seconds) * PER_MILLION;
  sink?.(`${kind}_second`, seconds, perSecond, 1, cost);
  return cost;
}

function jobCost(kind: TimedMedia, perJob: number | undefined, sink: LineSink | null): bigint {
  if (perJob === undefined) return 0n;
  const cost = BigInt(perJob) * DENOMINATOR;
  sink?.(`${kind}_job`, 1, perJob, 1, cost);
  return cost;
}

function tokenCost(usage: UsageVector, rates: ScaledRates, sink: LineSink | null): bigint {
  let total = 0n;
  // A request uses two or three of the ten classes; each of the others costs only a comparison.
  for (const tokenClass of TOKEN_CLASSES) {
    const count = usage[tokenClass];
    if (count > 0) {
      const cost = BigInt(count) * rates[tokenClass];
      sink?.(tokenClass, count, rates[tokenClass] / PER_MILLION, 1_000_000, cost);
      total += cost;
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

/** A class without a rate costs as much as plain input or output, a long cache write as much as a short one. */
function scaleRates(rates: TokenRates): ScaledRates {
  return {
    inputText: scale(rates.input),
    inputCacheRead: scale(rates.cache_read ?? rates.input),
    inputCacheWrite5m: scale(rates.cache_write_5m ?? rates.input),
    inputCacheWrite1h: scale(rates.cache_write_1h ?? rates.cache_write_5m ?? rates.input),
    inputImage: scale(rates.image_in ?? rates.input),
    inputAudio: scale(rates.audio_in ?? rates.input),
    outputText: scale(rates.output),
    outputReasoning: scale(rates.reasoning ?? rates.output),
    outputImage: scale(rates.image_out ?? rates.output),
    outputAudio: scale(rates.audio_out ?? rates.output),
  };
}

/** A row without a property, or with `'*'`, matches all values. */
function matches<Value>(rowValue: Value | '*' | undefined, value: Value | undefined): boolean {
  return rowValue === undefined || rowValue === '*' || rowValue === value;
}

function scale(ratePerMillion: number): bigint {
  return BigInt(ratePerMillion) * PER_MILLION;
}

/** Providers report decimals of seconds; they are rounded to the nearest millionth. */
function millionths(value: number): bigint {
  return BigInt(Math.round(value * 1_000_000));
}

/** More than any model reads or writes in one call; keeps every cost far below 64 bits. */
const MAX_UNITS = 2 ** 31;

/**
 * Corrects invalid usage reported by a provider: a value that is not a finite, non-negative number becomes 0, fractions
 * of a token are rounded up, excessive counts are capped. Returns the same object when nothing was corrected, so that
 * callers can detect a correction with `!==`.
 */
export function sanitizeUsage(usage: UsageVector): UsageVector {
  return isSane(usage) ? usage : corrected(usage);
}

function isSane(usage: UsageVector): boolean {
  return (
    isCount(usage.inputText) &&
    isCount(usage.inputCacheRead) &&
    isCount(usage.inputCacheWrite5m) &&
    isCount(usage.inputCacheWrite1h) &&
    isCount(usage.inputImage) &&
    isCount(usage.inputAudio) &&
    isCount(usage.outputText) &&
    isCount(usage.outputReasoning) &&
    isCount(usage.outputImage) &&
    isCount(usage.outputAudio) &&
    isCount(usage.images) &&
    isCount(usage.characters) &&
    toSeconds(usage.seconds) === usage.seconds &&
    isAmount(usage.units) &&
    isAmount(usage.megapixels) &&
    isAmount(usage.vendorCostMicro)
  );
}

/** A bill of zero counts as no bill: a vendor that omits a number must not make a result free. */
function isAmount(value: number | undefined): boolean {
  return value === undefined || (value > 0 && value <= MAX_UNITS);
}

function corrected(usage: UsageVector): UsageVector {
  return {
    inputText: toCount(usage.inputText),
    inputCacheRead: toCount(usage.inputCacheRead),
    inputCacheWrite5m: toCount(usage.inputCacheWrite5m),
    inputCacheWrite1h: toCount(usage.inputCacheWrite1h),
    inputImage: toCount(usage.inputImage),
    inputAudio: toCount(usage.inputAudio),
    outputText: toCount(usage.outputText),
    outputReasoning: toCount(usage.outputReasoning),
    outputImage: toCount(usage.outputImage),
    outputAudio: toCount(usage.outputAudio),
    images: toCount(usage.images),
    seconds: toSeconds(usage.seconds),
    characters: toCount(usage.characters),
    ...(isAmount(usage.units) && { units: usage.units }),
    ...(isAmount(usage.megapixels) && { megapixels: usage.megapixels }),
    ...(isAmount(usage.vendorCostMicro) && { vendorCostMicro: usage.vendorCostMicro }),
  };
}

function isCount(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= MAX_UNITS;
}

function toCount(value: number): number {
  return Math.ceil(toSeconds(value));
}

function toSeconds(value: number): number {
  return Number.isFinite(value) && value > 0 ? Math.min(value, MAX_UNITS) : 0;
}

/** Division that rounds up: the one rounding rule of the service. Both operands are positive. */
export function divideCeiling(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor;
}
