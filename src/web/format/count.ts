const numbers = new Intl.NumberFormat('en-US');
const plurals = new Intl.PluralRules('en-US');

/** `12,345`. */
export function formatCount(count: number | bigint): string {
  return numbers.format(count);
}

/** `1 request`, `12,345 requests`. */
export function countOf(count: number, singular: string, plural = `${singular}s`): string {
  return `${formatCount(count)} ${plurals.select(count) === 'one' ? singular : plural}`;
}

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** `1.5 MiB`. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  // What rounds to 1,024 is 1 of the next unit.
  while (Math.round(value * 10) >= 10_240 && unit < BYTE_UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${numbers.format(unit === 0 ? value : Math.round(value * 10) / 10)} ${BYTE_UNITS[unit]}`;
}

/** `320 ms`, `1.24 s`, `2 min 5 s`; empty for null. */
export function formatDuration(durationMs: number | null | undefined): string {
  if (durationMs == null) return '';
  if (Math.round(durationMs) < 1000) return `${Math.round(durationMs)} ms`;
  const hundredths = Math.round(durationMs / 10);
  if (hundredths < 6000) return `${numbers.format(hundredths / 100)} s`;
  const seconds = Math.round(durationMs / 1000);
  const [hours, minutes] = [Math.trunc(seconds / 3600), Math.trunc((seconds % 3600) / 60)];
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${seconds % 60} s`;
}
