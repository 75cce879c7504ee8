import type { ProviderCall } from '../../contract/provider-call';
import type { TranscriptionRequest } from '../../contract/transcription';
import { type FormPart, MultipartBody } from '../../kit/multipart-body';

/**
 * The form of `POST …/audio/transcriptions`. Requests the verbose format only for timestamps, since newer models have
 * only the short one. The file is not copied and comes last, so that hosts that parse forms as they arrive have all
 * fields by then.
 */
export function toTranscriptionForm(
  request: TranscriptionRequest,
  { upstreamModel }: ProviderCall,
  streamed: boolean,
): MultipartBody {
  const { audio, contentType, fileName, language, prompt, temperature, timestamps } = request;
  const parts: FormPart[] = [
    { name: 'model', value: upstreamModel },
    { name: 'response_format', value: timestamps.length > 0 ? 'verbose_json' : 'json' },
    ...timestamps.map((value) => ({ name: 'timestamp_granularities[]', value })),
  ];
  if (language !== null) parts.push({ name: 'language', value: language });
  if (prompt !== null) parts.push({ name: 'prompt', value: prompt });
  if (temperature !== null) parts.push({ name: 'temperature', value: String(temperature) });
  if (streamed) parts.push({ name: 'stream', value: 'true' });
  parts.push({ name: 'file', fileName, contentType, bytes: audio });
  return new MultipartBody(parts);
}
