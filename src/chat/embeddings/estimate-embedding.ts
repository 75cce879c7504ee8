import { measureText, type PromptMeasure } from '../../inference/token-estimate';
import { type EmbeddingInput, inputsOf } from '../../providers/contract/embeddings';

/** Measures texts in bytes; token ids count as tokens. */
export function measureInputs(input: EmbeddingInput): PromptMeasure {
  const measure: PromptMeasure = { textBytes: 0, fixedTokens: 0 };
  for (const item of inputsOf(input)) {
    if (typeof item === 'string') measureText(item, measure);
    else measure.fixedTokens += item.length;
  }
  return measure;
}
