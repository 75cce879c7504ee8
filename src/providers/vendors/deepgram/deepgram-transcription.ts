/**
 * Transcription by Deepgram: `POST /v1/listen` with the file as the body
 * (https://developers.deepgram.com/reference/speech-to-text/listen-pre-recorded).
 */
import type { ProviderCall } from '../../contract/provider-call';
import type {
  Transcript,
  TranscriptionProvider,
  TranscriptionRequest,
  TranscriptSegment,
  TranscriptWord,
} from '../../contract/transcription';
import { isJsonObject, type JsonObject, parseJsonObject } from '../../kit/json';
import { RawBody } from '../../kit/raw-body';
import {
  listTimed,
  notTranscript,
  refusePrompt,
  refuseTemperature,
  secondsOf,
  toReportedSeconds,
  toSegment,
  withTimestamps,
} from '../../kit/transcripts';
import type { UpstreamHttp } from '../../kit/upstream-http';

export class DeepgramTranscription implements TranscriptionProvider {
  constructor(private readonly http: Pick<UpstreamHttp, 'endpoint' | 'post'>) {}

  async transcribe(request: TranscriptionRequest, call: ProviderCall): Promise<Transcript> {
    const target = this.http.endpoint('listen', toListenQuery(request, call));
    const body = new RawBody(request.contentType, request.audio);
    return fromListenReply(await this.http.post(target, body, call), request);
  }
}

/** Pure. @throws ProviderError `validation_failed` with `param` */
export function toListenQuery(request: TranscriptionRequest, { upstreamModel }: ProviderCall): Record<string, string> {
  refusePrompt(request);
  refuseTemperature(request);
  const { language, timestamps } = request;
  return {
    model: upstreamModel,
    smart_format: 'true',
    // Without either field Deepgram assumes English: https://developers.deepgram.com/docs/language-detection
    ...(language === null ? { detect_language: 'true' } : { language }),
    ...(timestamps.includes('segment') && { utterances: 'true' }),
  };
}

/** Pure. @throws ProviderError for anything but a transcript with the requested timestamps */
export function fromListenReply(body: Buffer, request: Pick<TranscriptionRequest, 'timestamps'>): Transcript {
  const reply = parseJsonObject(body);
  const results = reply?.['results'];
  const channel: unknown =
    isJsonObject(results) && Array.isArray(results['channels']) ? results['channels'][0] : undefined;
  if (!isJsonObject(results) || !isJsonObject(channel)) throw notTranscript();
  const best: unknown = Array.isArray(channel['alternatives']) ? channel['alternatives'][0] : undefined;
  if (!isJsonObject(best) || typeof best['transcript'] !== 'string') throw notTranscript();
  const { detected_language: language } = channel;
  const metadata = reply?.['metadata'];
  const text = best['transcript'];
  return withTimestamps(request, {
    text,
    language: typeof language === 'string' ? language : null,
    segments: listTimed(results['utterances'], toUtterance),
    words: listTimed(best['words'], toWord),
    usage: null,
    reportedSeconds: toReportedSeconds(isJsonObject(metadata) ? metadata['duration'] : null),
  });
}

function toUtterance(item: JsonObject, id: number): TranscriptSegment {
  return toSegment(id, item['transcript'], item['start'], item['end']);
}

function toWord(item: JsonObject): TranscriptWord {
  const { word, punctuated_word: punctuated, start, end } = item;
  const text = punctuated ?? word;
  if (typeof text !== 'string') throw notTranscript();
  return { word: text, start: secondsOf(start), end: secondsOf(end) };
}
