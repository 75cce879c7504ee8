import { NO_USAGE, type UsageVector } from '../../contract/usage';
import { isJsonObject, type JsonObject } from '../../kit/json-object';
import { toCount, toTotal } from '../../kit/usage';

/**
 * The `usage` of an image reply. Input tokens are text unless the details count them as image tokens; output tokens are
 * image tokens unless the details count them as text. The format does not report cached tokens: all are priced as
 * uncached.
 * @returns `null` when the totals are absent or implausible
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

/** The `usage` of a transcript, where it counts tokens. */
export function toTranscriptUsage(usage: unknown): UsageVector | null {
  if (!isJsonObject(usage)) return null;
  const input = toTotal(usage['input_tokens']);
  const outputText = toTotal(usage['output_tokens']);
  if (input === null || outputText === null) return null;
  const inputText = Math.min(detail(usage, 'input_token_details', 'text_tokens'), input);
  return { ...NO_USAGE, inputText, inputAudio: input - inputText, outputText };
}

/** Seconds of audio by the `duration` of a verbose reply, else by its `usage`; `null` when neither is a positive number. */
export function toTranscriptSeconds(duration: unknown, usage: unknown): number | null {
  const reported = [duration, isJsonObject(usage) && usage['type'] === 'duration' ? usage['seconds'] : null];
  for (const value of reported) {
    // OpenAI's own specification has declared the duration as a string.
    const seconds = typeof value === 'string' ? Number(value) : value;
    if (typeof seconds === 'number' && Number.isFinite(seconds) && seconds > 0) return seconds;
  }
  return null;
}

function detail(usage: JsonObject, group: string, field: string): number {
  const details = usage[group];
  return isJsonObject(details) ? toCount(details[field]) : 0;
}
