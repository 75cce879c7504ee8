/** Encoded length of the given number of bytes. */
export function base64Length(bytes: number): number {
  return 4 * Math.ceil(bytes / 3);
}

/**
 * Decodes strict RFC 4648 base64: with padding, without spaces and without leftover bits. `null` for any other text;
 * Node alone skips unknown characters.
 */
export function decodeBase64(text: string): Buffer | null {
  if (text.length === 0 || text.length % 4 !== 0) return null;
  const bytes = Buffer.from(text, 'base64');
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  // Skipped characters and padding in the middle make the result shorter.
  if (bytes.length !== (text.length / 4) * 3 - padding) return null;
  // Node also accepts the URL alphabet.
  if (text.includes('-') || text.includes('_')) return null;
  const lastBytes = bytes.subarray(bytes.length - (3 - padding));
  return lastBytes.toString('base64') === text.slice(-4) ? bytes : null;
}
