import { GatewayError } from '../core/errors/gateway-error';
import type { Bill, PricedText } from '../inference/inference.types';
import type { CatalogModel } from '../models/catalog-model';
import { inputTokensOf, NO_USAGE, outputTokensOf, type UsageVector } from '../providers/contract/usage';
import type { TranscriptionFieldsDto, TranscriptionFormat } from './dto/transcription-fields.dto';

export type Timestamps = readonly ('segment' | 'word')[];

const NO_TIMESTAMPS: Timestamps = [];
const OF_SEGMENTS: Timestamps = ['segment'];
const TIMED_FORMATS: ReadonlySet<TranscriptionFormat> = new Set(['srt', 'verbose_json', 'vtt']);

/**
 * The timestamps that the response needs.
 * @throws GatewayError `validation_failed` for timestamps in a format without them
 */
export function requiredTimestamps(fields: TranscriptionFieldsDto): Timestamps {
  const format = fields.response_format ?? 'json';
  const wanted = fields.timestamp_granularities ?? [];
  if (wanted.length > 0 && format !== 'verbose_json') {
    const message = 'timestamp_granularities requires response_format verbose_json.';
    throw new GatewayError('validation_failed', message, { param: 'timestamp_granularities' });
  }
  if (!TIMED_FORMATS.has(format)) return NO_TIMESTAMPS;
  return wanted.length > 0 ? [...new Set(wanted)] : OF_SEGMENTS;
}

/**
 * Checks in the catalogue that the model supports these timestamps, before the idempotency look-up and the hold.
 * @throws GatewayError `validation_failed` with `param`
 */
export function assertTimestampsSupported(
  model: CatalogModel,
  fields: TranscriptionFieldsDto,
  timestamps: Timestamps,
): void {
  if (supportsTimestamps(model, timestamps)) return;
  const asked = fields.timestamp_granularities ?? [];
  const param = asked.length > 0 ? 'timestamp_granularities' : 'response_format';
  const supported = model.features.timestamps ?? [];
  const message =
    supported.length === 0
      ? `${model.id} does not support timestamps. Use response_format json or text.`
      : `${model.id} only supports timestamps per ${supported.join(' and ')}.`;
  throw new GatewayError('validation_failed', message, { param });
}

export function supportsTimestamps({ features }: CatalogModel, timestamps: Timestamps): boolean {
  return timestamps.every((each) => features.timestamps?.includes(each) === true);
}

/**
 * Whether the response is streamed. `stream` is ignored for models that do not support it, as in the original API.
 * @throws GatewayError `validation_failed` for a format that cannot be streamed
 */
export function isStreamed(
  { features }: CatalogModel,
  { stream, response_format: format }: TranscriptionFieldsDto,
): boolean {
  if (stream !== true || features.streaming !== true) return false;
  if (format == null || !TIMED_FORMATS.has(format)) return true;
  const message = 'Streaming requires response_format json or text.';
  throw new GatewayError('validation_failed', message, { param: 'response_format' });
}

/** Upper estimates over all vendors: input tokens per second of audio, and output tokens per second of speech. */
const INPUT_TOKENS_PER_SECOND = 32;
const OUTPUT_TOKENS_PER_SECOND = 8;

/** Responses round to whole seconds, so smaller differences are ignored. */
const ROUNDING_SECONDS = 1;
/** A duration beyond these factors is in another unit, such as minutes or milliseconds. */
const [MIN_PLAUSIBLE_FACTOR, MAX_PLAUSIBLE_FACTOR] = [0.1, 100];
const MAX_SECONDS = 86_400;

/**
 * The seconds to charge: the measured duration, unless the provider reports a different plausible one, for which it
 * charges the operator.
 * @param measuredSeconds duration of the file sent to the provider.
 */
export function chargedSeconds(measuredSeconds: number, reportedSeconds: number | null): number {
  if (reportedSeconds === null || Math.abs(reportedSeconds - measuredSeconds) < ROUNDING_SECONDS)
    return measuredSeconds;
  const isPlausible =
    reportedSeconds >= measuredSeconds * MIN_PLAUSIBLE_FACTOR &&
    reportedSeconds <= Math.min(measuredSeconds * MAX_PLAUSIBLE_FACTOR, MAX_SECONDS);
  return isPlausible ? reportedSeconds : measuredSeconds;
}

/** Usage in seconds. */
export function secondsUsage(seconds: number): UsageVector {
  return { ...NO_USAGE, seconds };
}

/** Usage in seconds and estimated tokens. */
export function estimateTranscription(ofSeconds: UsageVector, prompt: string, tokensPerByte: number): UsageVector {
  return {
    ...ofSeconds,
    inputText: Math.ceil(Buffer.byteLength(prompt) * tokensPerByte),
    inputAudio: Math.ceil(ofSeconds.seconds * INPUT_TOKENS_PER_SECOND),
    outputText: Math.ceil(ofSeconds.seconds * OUTPUT_TOKENS_PER_SECOND),
  };
}

/** The `usage` of a response in its billing unit, with a gap for the cost as its last field. */
export function usageText({ usage, usageEstimated }: Bill, tokensCount: boolean): PricedText {
  const counts = tokensCount ? tokenCounts(usage) : { type: 'duration', seconds: usage.seconds };
  const json = JSON.stringify({ ...counts, ...(usageEstimated && { x_llm_usage_estimated: true }) });
  return { head: `${json.slice(0, -1)},"x_llm_cost_micro":`, tail: '}' };
}

function tokenCounts(usage: UsageVector): object {
  const [input_tokens, output_tokens] = [inputTokensOf(usage), outputTokensOf(usage)];
  return {
    type: 'tokens',
    input_tokens,
    input_token_details: { text_tokens: input_tokens - usage.inputAudio, audio_tokens: usage.inputAudio },
    output_tokens,
    total_tokens: input_tokens + output_tokens,
  };
}
