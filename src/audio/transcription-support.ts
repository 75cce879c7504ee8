import { GatewayError } from '../core/errors/gateway-error';
import type { CatalogModel } from '../models/catalog-model';
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
