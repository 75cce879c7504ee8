/** The bytes of a base64 text, padded or not; `null` when it is none, or empty. */
export function decodeBase64(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64');
  // Characters outside the alphabet are skipped by the decoder; then the length does not fit.
  return bytes.length > 0 && bytes.length === decodedLength(text) ? bytes : null;
}

function decodedLength(text: string): number {
  let characters = text.length;
  while (text.charCodeAt(characters - 1) === 0x3d) characters--;
  return Math.floor((characters * 3) / 4);
}
