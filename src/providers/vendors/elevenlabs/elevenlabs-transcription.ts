/** Transcription by ElevenLabs (https://elevenlabs.io/docs/api-reference/speech-to-text/convert). */
import type { ProviderCall } from '../../contract/provider-call';
import type {
  Transcript,
  TranscriptionProvider,
  TranscriptionRequest,
  TranscriptWord,
} from '../../contract/transcription';
import { isJsonObject, parseJsonObject } from '../../kit/json';
import { type FormPart, MultipartBody } from '../../kit/multipart-body';
import {
  notTranscript,
  refusePrompt,
  secondsOf,
  toReportedSeconds,
  toSegments,
  withTimestamps,
} from '../../kit/transcripts';
import type { UpstreamHttp } from '../../kit/upstream-http';

export class ElevenLabsTranscription implements TranscriptionProvider {
  private readonly endpoint: string;

  constructor(private readonly http: Pick<UpstreamHttp, 'endpoint' | 'post'>) {
    this.endpoint = http.endpoint('speech-to-text');
  }

  async transcribe(request: TranscriptionRequest, call: ProviderCall): Promise<Transcript> {
    return fromTranscript(await this.http.post(this.endpoint, toTranscriptionForm(request, call), call), request);
  }
}

/** The file is not copied. @throws ProviderError `validation_failed` with `param` */
function toTranscriptionForm(request: TranscriptionRequest, { upstreamModel }: ProviderCall): MultipartBody {
  refusePrompt(request);
  const { audio, contentType, fileName, language, temperature, timestamps } = request;
  const parts: FormPart[] = [
    { name: 'model_id', value: upstreamModel },
    { name: 'timestamps_granularity', value: timestamps.length > 0 ? 'word' : 'none' },
    // Otherwise the text contains remarks such as "(laughter)".
    { name: 'tag_audio_events', value: 'false' },
  ];
  if (language !== null) parts.push({ name: 'language_code', value: language });
  if (temperature !== null) parts.push({ name: 'temperature', value: String(temperature) });
  parts.push({ name: 'file', fileName, contentType, bytes: audio });
  return new MultipartBody(parts);
}

/** Pure. @throws ProviderError for anything but a transcript with the requested timestamps */
function fromTranscript(body: Buffer, request: Pick<TranscriptionRequest, 'timestamps'>): Transcript {
  const reply = parseJsonObject(body);
  const text = reply?.['text'];
  if (reply === null || typeof text !== 'string') throw notTranscript();
  const pieces = request.timestamps.length > 0 ? toWords(reply['words']) : null;
  return withTimestamps(request, {
    text,
    language: typeof reply['language_code'] === 'string' ? reply['language_code'] : null,
    segments: pieces === null ? null : toSegments(pieces),
    words: pieces?.map((each) => ({ ...each, word: each.word.trim() })) ?? null,
    usage: null,
    reportedSeconds: toReportedSeconds(reply['audio_duration_secs']),
  });
}

/** Words with the spaces after them, which ElevenLabs sends as separate items. */
function toWords(value: unknown): TranscriptWord[] | null {
  if (!Array.isArray(value)) return null;
  const words: TranscriptWord[] = [];
  for (const item of value as readonly unknown[]) {
    if (!isJsonObject(item) || typeof item['text'] !== 'string') throw notTranscript();
    const { text, type, start, end } = item;
    const last = words.at(-1);
    if (type === 'word') words.push({ word: text as string, start: secondsOf(start), end: secondsOf(end) });
    else if (type === 'spacing' && last !== undefined) words[words.length - 1] = { ...last, word: last.word + text };
  }
  return words;
}
