import { GatewayError } from '../common/errors/gateway-error';
import type { CatalogModel } from '../models/catalog-model';
import type { TranscriptionFieldsDto, TranscriptionFormat } from './dto/transcription-fields.dto';

export type Timestamps = readonly ('segment' | 'word')[];

const NO_TIMESTAMPS: Timestamps = [];
const OF_SEGMENTS: Timestamps = ['segment'];
const TIMED_FORMATS: ReadonlySet<TranscriptionFormat> = new Set(['srt', 'verbose_json', 'vtt']);

/**
 * The times that the answer has to tell.
 * @throws GatewayError `validation_failed` for times in a format that has no place for them
 */
export function requiredTimestamps(fields: TranscriptionFieldsDto): Timestamps {
  const format = fields.response_format ?? 'json';
  const wanted = fields.timestamp_granularities ?? [];
  if (wanted.length > 0 && format !== 'verbose_json') {
    const message = 'timestamp_granularities needs the response_format verbose_json.';
    throw new GatewayError('validation_failed', message, { param: 'timestamp_granularities' });
  }
  if (!TIMED_FORMATS.has(format)) return NO_TIMESTAMPS;
  return wanted.length > 0 ? [...new Set(wanted)] : OF_SEGMENTS;
}

/**
 * Requires that the model tells such times, by the catalogue: before anything is looked up or held.
 * @throws GatewayError `validation_failed` with `param`
 */
export function assertTellsTimes(model: CatalogModel, fields: TranscriptionFieldsDto, timestamps: Timestamps): void {
  if (tellsTimes(model, timestamps)) return;
  const asked = fields.timestamp_granularities ?? [];
  const param = asked.length > 0 ? 'timestamp_granularities' : 'response_format';
  const told = model.features.timestamps ?? [];
  const message =
    told.length === 0
      ? `${model.id} tells no times; its formats are json and text.`
      : `${model.id} tells times of each ${told.join(' and ')} only.`;
  throw new GatewayError('validation_failed', message, { param });
}

export function tellsTimes({ features }: CatalogModel, timestamps: Timestamps): boolean {
  return timestamps.every((each) => features.timestamps?.includes(each) === true);
}

/**
 * Whether the answer is a stream. What a model cannot do is ignored, as the vendor of the format does.
 * @throws GatewayError `validation_failed` for a stream in a format that is not known before its end
 */
export function isStreamed(
  { features }: CatalogModel,
  { stream, response_format: format }: TranscriptionFieldsDto,
): boolean {
  if (stream !== true || features.streaming !== true) return false;
  if (format == null || !TIMED_FORMATS.has(format)) return true;
  const message = 'A stream has the response_format json or text.';
  throw new GatewayError('validation_failed', message, { param: 'response_format' });
}
