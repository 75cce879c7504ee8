import { NO_USAGE, type UsageVector } from '../../contract/usage';
import { isJsonObject, type JsonObject } from '../../kit/json';
import { toCount, toTotal } from '../../kit/usage';

/**
 * Converts `usageMetadata` into disjoint classes. The prompt includes cached tokens but not tool results, and
 * candidates exclude thoughts (https://ai.google.dev/api/generate-content#UsageMetadata). Video and documents count as
 * text.
 * @returns `null` without a plausible number of prompt tokens, as in pieces that state only the traffic type
 */
export function toUsage(metadata: unknown): UsageVector | null {
  if (!isJsonObject(metadata)) return null;
  const prompt = toTotal(metadata['promptTokenCount']);
  if (prompt === null) return null;

  const inputCacheRead = Math.min(toCount(metadata['cachedContentTokenCount']), prompt);
  const { promptTokensDetails: inputs, cacheTokensDetails: cached, candidatesTokensDetails: outputs } = metadata;
  let left = prompt - inputCacheRead;
  const take = (modality: string): number => {
    const taken = Math.min(Math.max(0, tokensOf(inputs, modality) - tokensOf(cached, modality)), left);
    left -= taken;
    return taken;
  };
  const inputImage = take('IMAGE');
  const inputAudio = take('AUDIO');

  const candidates = toCount(metadata['candidatesTokenCount']);
  const outputImage = Math.min(tokensOf(outputs, 'IMAGE'), candidates);
  const outputAudio = Math.min(tokensOf(outputs, 'AUDIO'), candidates - outputImage);
  return {
    ...NO_USAGE,
    inputText: left + toCount(metadata['toolUsePromptTokenCount']),
    inputCacheRead,
    inputImage,
    inputAudio,
    outputText: candidates - outputImage - outputAudio,
    outputReasoning: toCount(metadata['thoughtsTokenCount']),
    outputImage,
    outputAudio,
  };
}

function tokensOf(details: unknown, modality: string): number {
  if (!Array.isArray(details)) return 0;
  const entry = (details as readonly unknown[]).find(
    (each): each is JsonObject => isJsonObject(each) && each['modality'] === modality,
  );
  return entry === undefined ? 0 : toCount(entry['tokenCount']);
}
