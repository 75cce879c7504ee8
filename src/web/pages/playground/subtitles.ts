export interface Segment {
  /** Seconds. */
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** A SubRip file. */
export function toSrt(segments: readonly Segment[]): string {
  return segments
    .map(({ start, end, text }, index) => `${index + 1}\n${time(start, ',')} --> ${time(end, ',')}\n${text.trim()}\n`)
    .join('\n');
}

/** A WebVTT file. */
export function toVtt(segments: readonly Segment[]): string {
  const cues = segments.map(({ start, end, text }) => `${time(start, '.')} --> ${time(end, '.')}\n${text.trim()}\n`);
  return `WEBVTT\n\n${cues.join('\n')}`;
}

/** `01:02:03,456`. */
function time(seconds: number, separator: ',' | '.'): string {
  const milliseconds = Math.round(seconds * 1000);
  const [hours, minutes] = [milliseconds / 3_600_000, (milliseconds / 60_000) % 60];
  const clock = [hours, minutes, (milliseconds / 1000) % 60].map((value) => digits(value, 2)).join(':');
  return `${clock}${separator}${digits(milliseconds % 1000, 3)}`;
}

function digits(value: number, count: number): string {
  return String(Math.trunc(value)).padStart(count, '0');
}
