import { addDecimals } from '../../core/types/decimal';

/**
 * What the vendor itself bills for a call, as decimal numbers; absent if the vendor does not report it. The gateway has
 * no unit for it, so a price charges it only where the catalogue says so, and then instead of everything else.
 */
export interface VendorBill {
  /** Billable units as the vendor defines them for the model. */
  readonly units?: number;
  readonly megapixels?: number;
  /** The vendor's own charge in micro-USD. */
  readonly vendorCostMicro?: number;
}

/**
 * What a call consumed. The classes are **disjoint**: no count includes another (a cached prompt token counts in
 * `inputCacheRead`, not in `inputText`), so a price is a plain sum. Each dialect converts its usage to these classes
 * exactly once.
 */
export interface UsageVector extends VendorBill {
  readonly inputText: number;
  readonly inputCacheRead: number;
  readonly inputCacheWrite5m: number;
  readonly inputCacheWrite1h: number;
  readonly inputImage: number;
  readonly inputAudio: number;
  readonly outputText: number;
  readonly outputReasoning: number;
  readonly outputImage: number;
  readonly outputAudio: number;
  readonly images: number;
  /** Media seconds, as a decimal number: video, music, transcribed audio. */
  readonly seconds: number;
  readonly characters: number;
}

export const NO_USAGE: UsageVector = Object.freeze({
  inputText: 0,
  inputCacheRead: 0,
  inputCacheWrite5m: 0,
  inputCacheWrite1h: 0,
  inputImage: 0,
  inputAudio: 0,
  outputText: 0,
  outputReasoning: 0,
  outputImage: 0,
  outputAudio: 0,
  images: 0,
  seconds: 0,
  characters: 0,
});

/** All input tokens, cached or not. */
export function inputTokensOf(usage: UsageVector): number {
  const { inputText, inputCacheRead, inputCacheWrite5m, inputCacheWrite1h, inputImage, inputAudio } = usage;
  return inputText + inputCacheRead + inputCacheWrite5m + inputCacheWrite1h + inputImage + inputAudio;
}

/** All output tokens. */
export function outputTokensOf({ outputText, outputReasoning, outputImage, outputAudio }: UsageVector): number {
  return outputText + outputReasoning + outputImage + outputAudio;
}

/** The count for token limits. */
export function tokensOf(usage: UsageVector): number {
  return inputTokensOf(usage) + outputTokensOf(usage);
}

/** The vendor's bill for a usage; `null` when it reported none. */
export function vendorBillOf({ units, megapixels, vendorCostMicro }: UsageVector): VendorBill | null {
  if (units === undefined && megapixels === undefined && vendorCostMicro === undefined) return null;
  return {
    ...(units !== undefined && { units }),
    ...(megapixels !== undefined && { megapixels }),
    ...(vendorCostMicro !== undefined && { vendorCostMicro }),
  };
}

/** The usage without the vendor's bill. */
export function withoutVendorBill(usage: UsageVector): UsageVector {
  if (vendorBillOf(usage) === null) return usage;
  const { units: _units, megapixels: _megapixels, vendorCostMicro: _vendorCostMicro, ...counted } = usage;
  return counted;
}

/**
 * The combined usage of several calls. Vendor bills are added up even if some are missing; callers that need every bill
 * check for them.
 */
export function addUsage(one: UsageVector, other: UsageVector): UsageVector {
  return {
    inputText: one.inputText + other.inputText,
    inputCacheRead: one.inputCacheRead + other.inputCacheRead,
    inputCacheWrite5m: one.inputCacheWrite5m + other.inputCacheWrite5m,
    inputCacheWrite1h: one.inputCacheWrite1h + other.inputCacheWrite1h,
    inputImage: one.inputImage + other.inputImage,
    inputAudio: one.inputAudio + other.inputAudio,
    outputText: one.outputText + other.outputText,
    outputReasoning: one.outputReasoning + other.outputReasoning,
    outputImage: one.outputImage + other.outputImage,
    outputAudio: one.outputAudio + other.outputAudio,
    images: one.images + other.images,
    seconds: one.seconds + other.seconds,
    characters: one.characters + other.characters,
    ...addBills(vendorBillOf(one), vendorBillOf(other)),
  };
}

function addBills(one: VendorBill | null, other: VendorBill | null): VendorBill | null {
  if (one === null || other === null) return one ?? other;
  const total: Partial<Record<keyof VendorBill, number>> = { ...one };
  for (const key of ['units', 'megapixels', 'vendorCostMicro'] as const) {
    if (other[key] !== undefined) total[key] = addDecimals(one[key] ?? 0, other[key]);
  }
  return total;
}
