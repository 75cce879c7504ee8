/** FNV-1a over the code units of a text, folded into an earlier hash. A 32-bit unsigned integer. */
export function hashText(text: string, earlier = 0x811c9dc5): number {
  let hash = earlier;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return hash >>> 0;
}

/** A number in [0, 1) that looks random and is always the same for the same seed (the mixer of mulberry32). */
export function seededNumber(seed: number): number {
  const state = (seed + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), state | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
}
