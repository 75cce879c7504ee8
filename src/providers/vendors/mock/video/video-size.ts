/** Pixels; both even, as video requires. */
export interface VideoSize {
  readonly width: number;
  readonly height: number;
}

const DEFAULT_SHORT_SIDE = 720;
const DEFAULT_RATIO = [16, 9] as const;

/**
 * Converts the names of the API to a size in pixels.
 * @param resolution Its shorter side, as in `720p`; `null` or another word: 720.
 * @param aspectRatio `W:H`; `null`: `16:9`.
 */
export function videoSize(resolution: string | null, aspectRatio: string | null): VideoSize {
  const short = Number(/^(\d+)p$/.exec(resolution ?? '')?.[1] ?? DEFAULT_SHORT_SIDE);
  const [wide = 1, high = 1] = /^[1-9]\d*:[1-9]\d*$/.test(aspectRatio ?? '')
    ? String(aspectRatio).split(':').map(Number)
    : DEFAULT_RATIO;
  const long = even((short * Math.max(wide, high)) / Math.min(wide, high));
  return wide >= high ? { width: long, height: even(short) } : { width: even(short), height: long };
}

function even(length: number): number {
  return 2 * Math.round(length / 2);
}
