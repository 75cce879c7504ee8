import type { TranscriptSegment, TranscriptWord } from '../../contract/transcription';
import { hashText } from './random';
import { tokenize } from './tokens';

const CENTS = 100;
/** Whisper knows about as many tokens. */
const VOCABULARY = 50_000;

/** Sentences in sequence, with durations in proportion to their letters. */
export function segmentsOf(text: string, seconds: number, temperature: number): TranscriptSegment[] {
  const sentences = text.match(/[^.!?…]+[.!?…]*\s*/gu) ?? [];
  return spread(sentences, seconds).map(({ piece, start, end }, id) => ({
    id,
    seek: 0,
    start,
    end,
    text: ` ${piece.trim()}`,
    tokens: tokenize(piece).map((token) => hashText(token) % VOCABULARY),
    temperature,
    avg_logprob: -0.2,
    compression_ratio: 1.2,
    no_speech_prob: 0.01,
  }));
}

export function wordsOf(text: string, seconds: number): TranscriptWord[] {
  return spread(text.match(/\S+\s*/gu) ?? [], seconds).map(({ piece, start, end }) => ({
    word: piece.trim().replace(/[.,!?…]+$/u, ''),
    start,
    end,
  }));
}

interface Timed {
  readonly piece: string;
  /** Seconds, in hundredths. */
  readonly start: number;
  readonly end: number;
}

/** Distributes the time by letters: without gaps, and not beyond the end. */
function spread(pieces: readonly string[], seconds: number): Timed[] {
  const total = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const at = (letters: number) => Math.floor((seconds * CENTS * letters) / Math.max(1, total)) / CENTS;
  let letters = 0;
  return pieces.map((piece) => {
    const start = at(letters);
    letters += piece.length;
    return { piece, start, end: at(letters) };
  });
}
