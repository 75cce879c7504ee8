import { NO_USAGE, type UsageVector } from '../../contract/usage';
import { isJsonObject, type JsonObject } from '../../kit/json-object';
import { toCount, toTotal } from '../../kit/usage';

/**
 * The `usage` of an image reply. An input token is text unless the details say that it is an image's; an output token is an
 * image's unless they say that it is text. The format tells of no cached tokens: all of them cost what uncached ones do.
 * @returns `null` when the totals are absent or not believable
 */
export function toImageUsage(usage: unknown): UsageVector | null {
  if (!isJsonObject(usage)) return null;
  const input = toTotal(usage['input_tokens']);
  const output = toTotal(usage['output_tokens']);
  if (input === null || output === null) return null;
  const inputImage = Math.min(detail(usage, 'input_tokens_details', 'image_tokens'), input);
  const outputText = Math.min(detail(usage, 'output_tokens_details', 'text_tokens'), output);
  return { ...NO_USAGE, inputText: input - inputImage, inputImage, outputText, outputImage: output - outputText };
}

/** The `usage` of a transcript, where it counts tokens; its seconds are measured by whoever has the file. */
export function toTranscriptUsage(usage: unknown): UsageVector | null {
  if (!isJsonObject(usage)) return null;
  const input = toTotal(usage['input_tokens']);
  const outputText = toTotal(usage['output_tokens']);
  if (input === null || outputText === null) return null;
  const inputText = Math.min(detail(usage, 'input_token_details', 'text_tokens'), input);
  return { ...NO_USAGE, inputText, inputAudio: input - inputText, outputText };
}

function detail(usage: JsonObject, group: string, field: string): number {
  const details = usage[group];
  return isJsonObject(details) ? toCount(details[field]) : 0;
}
