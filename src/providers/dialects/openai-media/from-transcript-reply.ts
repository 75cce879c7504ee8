import { ProviderError } from '../../contract/provider-error';
import type { Transcript, TranscriptionRequest, TranscriptSegment, TranscriptWord } from '../../contract/transcription';
import { isJsonObject, type JsonObject } from '../../kit/json-object';
import { mapInBandError } from '../../kit/map-upstream-error';
import { toTranscriptSeconds, toTranscriptUsage } from './media-usage';

/**
 * Reads a transcript from a reply, short or verbose. Pure.
 * @throws ProviderError for anything else, and when requested timestamps are missing, since subtitles need them
 */
export function fromTranscriptReply(
  body: Buffer,
  { timestamps }: Pick<TranscriptionRequest, 'timestamps'>,
): Transcript {
  const reply = parse(body);
  if (reply['error'] != null) throw mapInBandError(reply, 'first_token');
  const { text, language, usage } = reply;
  if (typeof text !== 'string') throw notTranscript();
  const segments = listOf(reply['segments'], toSegment);
  const words = listOf(reply['words'], toWord);
  return {
    text,
    language: typeof language === 'string' && language !== '' ? language : null,
    segments: timestamps.includes('segment') ? timed(segments, text) : segments,
    words: timestamps.includes('word') ? timed(words, text) : words,
    usage: toTranscriptUsage(usage),
    reportedSeconds: toTranscriptSeconds(reply['duration'], usage),
  };
}

/** Silence has no timestamps. */
function timed<Item>(items: readonly Item[] | null, text: string): readonly Item[] {
  if (items !== null && (items.length > 0 || text.trim() === '')) return items;
  if (text.trim() === '') return [];
  throw notTranscript('a transcript without the requested timestamps');
}

function listOf<Item>(value: unknown, convert: (item: JsonObject, index: number) => Item): readonly Item[] | null {
  if (!Array.isArray(value)) return null;
  return value.map((item: unknown, index) => {
    if (!isJsonObject(item)) throw notTranscript();
    return convert(item, index);
  });
}

/** Servers other than OpenAI's omit fields that their model does not report; clients expect every field. */
function toSegment(item: JsonObject, index: number): TranscriptSegment {
  const { text, tokens } = item;
  if (typeof text !== 'string') throw notTranscript();
  return {
    id: numberOf(item['id'], index),
    seek: numberOf(item['seek'], 0),
    start: secondsOf(item['start']),
    end: secondsOf(item['end']),
    text,
    tokens: Array.isArray(tokens) ? tokens.filter((token) => typeof token === 'number') : [],
    temperature: numberOf(item['temperature'], 0),
    avg_logprob: numberOf(item['avg_logprob'], 0),
    compression_ratio: numberOf(item['compression_ratio'], 0),
    no_speech_prob: numberOf(item['no_speech_prob'], 0),
  };
}

function toWord(item: JsonObject): TranscriptWord {
  const { word } = item;
  if (typeof word !== 'string') throw notTranscript();
  return { word, start: secondsOf(item['start']), end: secondsOf(item['end']) };
}

function numberOf(value: unknown, fallback: number): number {
  return typeof value === 'number' ? value : fallback;
}

function secondsOf(value: unknown): number {
  if (typeof value === 'number' && value >= 0) return value;
  throw notTranscript();
}

function parse(body: Buffer): JsonObject {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    if (isJsonObject(value)) return value;
  } catch {
    // Invalid JSON is handled like JSON of the wrong type.
  }
  throw notTranscript();
}

function notTranscript(what = 'a response that is not a transcript'): ProviderError {
  return new ProviderError('provider_error', `The provider sent ${what}.`, { phase: 'first_token', fallback: true });
}
