/** Transcripts of vendors that do not use OpenAI's format. */
import { ProviderError } from '../contract/provider-error';
import type { Transcript, TranscriptionRequest, TranscriptSegment, TranscriptWord } from '../contract/transcription';
import { isJsonObject, type JsonObject } from './json';
import { unsupported } from './unsupported';

/** @throws ProviderError `validation_failed` with `param`, before anything is sent */
export function refusePrompt({ prompt }: TranscriptionRequest): void {
  if (prompt !== null) throw unsupported('prompt');
}

/**
 * Allows only the temperature zero, which is how models without a temperature transcribe. @throws ProviderError as
 * {@link refusePrompt}
 */
export function refuseTemperature({ temperature }: TranscriptionRequest): void {
  if (temperature !== null && temperature !== 0) throw unsupported('temperature');
}

/**
 * The transcript with the requested timestamps only.
 * @throws ProviderError when requested ones are missing, since subtitles need them
 */
export function withTimestamps({ timestamps }: Pick<TranscriptionRequest, 'timestamps'>, all: Transcript): Transcript {
  const { text, segments, words } = all;
  return {
    ...all,
    segments: timestamps.includes('segment') ? present(segments, text) : null,
    words: timestamps.includes('word') ? present(words, text) : null,
  };
}

/** Empty text needs no timestamps, since it is silence. */
export function present<Item>(items: readonly Item[] | null, text: string): readonly Item[] {
  if (items !== null && (items.length > 0 || text.trim() === '')) return items;
  if (text.trim() === '') return [];
  throw notTranscript('a transcript without the requested timestamps');
}

/** `null` for anything but a list. @throws ProviderError when an item is not an object; rethrows errors of `convert` */
export function listTimed<Item>(
  value: unknown,
  convert: (item: JsonObject, index: number) => Item,
): readonly Item[] | null {
  if (!Array.isArray(value)) return null;
  return value.map((item: unknown, index) => {
    if (!isJsonObject(item)) throw notTranscript();
    return convert(item, index);
  });
}

/**
 * A segment with placeholders for the figures of Whisper's decoder, which clients expect.
 * @throws ProviderError when a value has the wrong type
 */
export function toSegment(id: number, text: unknown, start: unknown, end: unknown): TranscriptSegment {
  if (typeof text !== 'string') throw notTranscript();
  return {
    id,
    seek: 0,
    start: secondsOf(start),
    end: secondsOf(end),
    text,
    tokens: [],
    temperature: 0,
    avg_logprob: 0,
    compression_ratio: 0,
    no_speech_prob: 0,
  };
}

/** @throws ProviderError for anything but seconds from the beginning */
export function secondsOf(value: unknown): number {
  if (typeof value === 'number' && value >= 0) return value;
  throw notTranscript();
}

/** The most words that a segment gets when segments are built from words. */
const MAX_SEGMENT_WORDS = 16;
/** A longer silence ends a segment. */
const SEGMENT_PAUSE_SECONDS = 1;
const SENTENCE_END = /[.!?。！？…]["'”’)]*\s*$/u;

/**
 * Builds segments for vendors that only time words: sentences, or parts of sentences that are too long for a subtitle.
 * @param words with the spaces that follow them
 */
export function toSegments(words: readonly TranscriptWord[]): readonly TranscriptSegment[] {
  const groups: TranscriptWord[][] = [];
  let open: TranscriptWord[] = [];
  for (const word of words) {
    const last = open.at(-1);
    const pauses = last !== undefined && word.start - last.end > SEGMENT_PAUSE_SECONDS;
    if (last === undefined || pauses || open.length === MAX_SEGMENT_WORDS || SENTENCE_END.test(last.word)) {
      open = [];
      groups.push(open);
    }
    open.push(word);
  }
  return groups.map((group, id) => {
    const text = group.map(({ word }) => word).join('');
    return toSegment(id, text.trim(), group[0]?.start, Math.max(...group.map(({ end }) => end)));
  });
}

/** A positive duration in seconds; `null` for anything else. */
export function toReportedSeconds(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : null;
}

export function notTranscript(what = 'a response that is not a transcript'): ProviderError {
  return new ProviderError('provider_error', `The provider sent ${what}.`, { phase: 'first_token', fallback: true });
}
