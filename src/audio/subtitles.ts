import type { TranscriptSegment } from '../providers/contract/transcription';

type TimedText = Pick<TranscriptSegment, 'start' | 'end' | 'text'>;

interface Cue {
  readonly startMs: number;
  readonly endMs: number;
  readonly lines: string;
}

/** SubRip: numbered cues, each ended by an empty line. */
export function toSrt(segments: readonly TimedText[]): string {
  return cuesOf(segments)
    .map(({ startMs, endMs, lines }, index) => {
      const text = lines.replaceAll(/--+>/g, '->');
      return `${index + 1}\n${clock(startMs, ',')} --> ${clock(endMs, ',')}\n${text}\n\n`;
    })
    .join('');
}

/** WebVTT, where some characters are markup and must be escaped. */
export function toVtt(segments: readonly TimedText[]): string {
  const cues = cuesOf(segments).map(({ startMs, endMs, lines }) => {
    const text = lines.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
    return `${clock(startMs, '.')} --> ${clock(endMs, '.')}\n${text}\n\n`;
  });
  return `WEBVTT\n\n${cues.join('')}`;
}

/**
 * Players need cues ordered by start time, each with a duration. Model timestamps may overlap, be equal after rounding,
 * or run backwards: such a cue starts with the previous one, or lasts a millisecond.
 */
function cuesOf(segments: readonly TimedText[]): Cue[] {
  const cues: Cue[] = [];
  let latestMs = 0;
  for (const { start, end, text } of segments) {
    const lines = linesOf(text);
    if (lines === '') continue;
    const startMs = Math.max(toMilliseconds(start), latestMs);
    cues.push({ startMs, endMs: Math.max(toMilliseconds(end), startMs + 1), lines });
    latestMs = startMs;
  }
  return cues;
}

/** An empty line would end the cue. */
function linesOf(text: string): string {
  return text
    .split(/\r\n|[\r\n\u2028\u2029]/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n');
}

function toMilliseconds(seconds: number): number {
  return Number.isFinite(seconds) && seconds > 0 ? Math.round(seconds * 1_000) : 0;
}

/** `HH:MM:SS`, the separator, and milliseconds. */
function clock(totalMs: number, separator: ',' | '.'): string {
  const ms = String(totalMs % 1_000).padStart(3, '0');
  return `${twoDigits(totalMs / 3_600_000)}:${twoDigits((totalMs / 60_000) % 60)}:${twoDigits((totalMs / 1_000) % 60)}${separator}${ms}`;
}

function twoDigits(value: number): string {
  return String(Math.floor(value)).padStart(2, '0');
}
