import type { UsageVector } from '../../providers/contract/usage';

/** More than any model reads or writes in one call; keeps every cost far below 64 bits. */
const MAX_UNITS = 2 ** 31;

/**
 * Corrects invalid usage reported by a provider: a value that is not a finite, non-negative number becomes 0, fractions of
 * a token are rounded up, excessive counts are capped. Returns the same object when nothing was corrected, so that callers
 * can detect a correction with `!==`.
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
    toSeconds(usage.seconds) === usage.seconds
  );
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
