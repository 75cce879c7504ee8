import type { Pricing } from '../../../contract/dashboard';
import { formatMicro } from '../../format/money';

/** The main rates of a price, for example `$1.00 in, $2.00 out per 1M tokens`. The model's page has all of them. */
export function priceInWords(pricing: Pricing): string {
  const { tokens, image, video, music, speech, transcription, request } = pricing;
  const parts = [
    tokens &&
      `${formatMicro(tokens.per_1m_micro.input)} in, ${formatMicro(tokens.per_1m_micro.output)} out per 1M tokens`,
    image?.estimate_only !== true &&
      image &&
      range(
        image.rows.map((row) => row.per_image_micro),
        'image',
      ),
    video &&
      range(
        video.rows.map((row) => row.per_second_micro),
        'second',
      ),
    video?.per_job_micro !== undefined && `${formatMicro(video.per_job_micro)} per job`,
    music?.per_second_micro !== undefined && `${formatMicro(music.per_second_micro)} per second`,
    music?.per_job_micro !== undefined && `${formatMicro(music.per_job_micro)} per job`,
    speech && `${formatMicro(speech.per_1k_chars_micro)} per 1K characters`,
    transcription && `${formatMicro(transcription.per_minute_micro)} per minute`,
    request && `${formatMicro(request.per_request_micro)} per request`,
  ];
  return parts.filter((part) => typeof part === 'string').join(', plus ');
}

function range(rates: readonly number[], unit: string): string {
  const [least, most] = [Math.min(...rates), Math.max(...rates)];
  return least === most
    ? `${formatMicro(least)} per ${unit}`
    : `${formatMicro(least)} to ${formatMicro(most)} per ${unit}`;
}
