/**
 * Transcription by Mistral's Voxtral models: OpenAI's endpoint with Mistral's own form and reply
 * (https://docs.mistral.ai/api/endpoint/audio/transcriptions).
 */
import type { ProviderCall } from '../../contract/provider-call';
import type {
  Transcript,
  TranscriptionProvider,
  TranscriptionRequest,
  TranscriptSegment,
} from '../../contract/transcription';
import { isJsonObject, type JsonObject, parseJsonObject } from '../../kit/json';
import { type FormPart, MultipartBody } from '../../kit/multipart-body';
import {
  listTimed,
  notTranscript,
  refusePrompt,
  toReportedSeconds,
  toSegment,
  withTimestamps,
} from '../../kit/transcripts';
import { unsupported } from '../../kit/unsupported';
import type { UpstreamHttp } from '../../kit/upstream-http';

export class MistralTranscription implements TranscriptionProvider {
  private readonly endpoint: string;

  constructor(private readonly http: Pick<UpstreamHttp, 'endpoint' | 'post'>) {
    this.endpoint = http.endpoint('audio/transcriptions');
  }

  async transcribe(request: TranscriptionRequest, call: ProviderCall): Promise<Transcript> {
    const form = toVoxtralForm(request, call);
    return fromVoxtralReply(await this.http.post(this.endpoint, form, call), request);
  }
}

/** Pure. @throws ProviderError `validation_failed` with `param` */
function toVoxtralForm(request: TranscriptionRequest, { upstreamModel }: ProviderCall): MultipartBody {
  refusePrompt(request);
  const { audio, contentType, fileName, language, temperature, timestamps } = request;
  // Voxtral 3 and later answer 400: https://docs.mistral.ai/studio/audio/migrate-from-voxtral-2
  if (timestamps.includes('word')) throw unsupported('timestamp_granularities');
  const timed = timestamps.length > 0;
  const parts: FormPart[] = [
    { name: 'model', value: upstreamModel },
    // Some models refuse a language together with timestamps. Without a language they detect it.
    ...(timed ? [{ name: 'timestamp_granularities', value: 'segment' }] : []),
    ...(language !== null && !timed ? [{ name: 'language', value: language }] : []),
    ...(temperature !== null ? [{ name: 'temperature', value: String(temperature) }] : []),
    { name: 'file', fileName, contentType, bytes: audio },
  ];
  return new MultipartBody(parts);
}

/** Pure. @throws ProviderError for anything but a transcript with the requested timestamps */
function fromVoxtralReply(body: Buffer, request: TranscriptionRequest): Transcript {
  const { text, language, segments, usage } = parseJsonObject(body) ?? {};
  if (typeof text !== 'string') throw notTranscript();
  return withTimestamps(request, {
    text,
    language: typeof language === 'string' && language !== '' ? language : request.language,
    segments: listTimed(segments, toVoxtralSegment),
    words: null,
    // Priced by the minute; the reported tokens include those of the audio.
    usage: null,
    reportedSeconds: toReportedSeconds(isJsonObject(usage) ? usage['prompt_audio_seconds'] : null),
  });
}

function toVoxtralSegment({ text, start, end }: JsonObject, id: number): TranscriptSegment {
  return toSegment(id, text, start, end);
}
