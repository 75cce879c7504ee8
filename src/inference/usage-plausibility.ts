import type { CatalogModel } from '../models/catalog-model';
import { inputTokensOf, outputTokensOf, type UsageVector } from '../providers/contract/usage';

/** Assumed for models with an unknown context length: larger than that of any model. */
const LONGEST_CONTEXT = 2_097_152;

/** An estimate, with the side of the exchange that the provider did report. */
export function withReported(estimate: UsageVector, reported: UsageVector | null): UsageVector {
  if (reported === null) return estimate;
  if (inputTokensOf(reported) > 0) return { ...reported, outputText: estimate.outputText };
  return outputTokensOf(reported) > 0 ? { ...reported, inputText: estimate.inputText } : estimate;
}

/** Whether the usage fits the model's context length and output limit. */
export function fitsModel(
  usage: UsageVector,
  { contextLength, maxOutputTokens }: CatalogModel,
  promptCount = 1,
): boolean {
  const limit = contextLength ?? LONGEST_CONTEXT;
  return inputTokensOf(usage) <= limit * promptCount && outputTokensOf(usage) <= Math.max(limit, maxOutputTokens ?? 0);
}
