/** Longest encoded length of so many bytes. */
export function base64Length(bytes: number): number {
  return 4 * Math.ceil(bytes / 3);
}

/**
 * The bytes of a base64 text as RFC 4648 writes it: with padding, without spaces, with no bits left over. `null` for any
 * other; Node alone would skip what it does not know.
 */
export function decodeBase64(text: string): Buffer | null {
  if (text.length === 0 || text.length % 4 !== 0) return null;
  const bytes = Buffer.from(text, 'base64');
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  // A character that is skipped, or padding in the middle, makes the result shorter.
  if (bytes.length !== (text.length / 4) * 3 - padding) return null;
  // The alphabet for addresses is read as well.
  if (text.includes('-') || text.includes('_')) return null;
  const lastBytes = bytes.subarray(bytes.length - (3 - padding));
  return lastBytes.toString('base64') === text.slice(-4) ? bytes : null;
}
