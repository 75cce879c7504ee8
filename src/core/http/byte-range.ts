/** A range of a file; both ends inclusive. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

const SINGLE_RANGE = /^bytes=(\d*)-(\d*)$/i;

/**
 * Parses a `Range` header (RFC 9110 section 14). `whole`: no header, or one that may be ignored (several ranges, other
 * units, malformed). `beyond`: the range is not satisfiable.
 */
export function readByteRange(header: string | undefined, sizeBytes: number): ByteRange | 'whole' | 'beyond' {
  const [, from = '', to = ''] = SINGLE_RANGE.exec(header?.trim() ?? '') ?? [];
  if (from === '' && to === '') return 'whole';
  if (from === '') {
    const length = Math.min(Number(to), sizeBytes);
    return length === 0 ? 'beyond' : { first: sizeBytes - length, last: sizeBytes - 1 };
  }
  const first = Number(from);
  const last = to === '' ? Infinity : Number(to);
  if (last < first) return 'whole';
  return first >= sizeBytes ? 'beyond' : { first, last: Math.min(last, sizeBytes - 1) };
}
