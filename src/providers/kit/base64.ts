/** Decodes base64, padded or not; `null` when the text is invalid or empty. */
export function decodeBase64(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64');
  // The decoder skips characters outside the alphabet; the length then does not match.
  return bytes.length > 0 && bytes.length === decodedLength(text) ? bytes : null;
}

function decodedLength(text: string): number {
  let characters = text.length;
  while (text.charCodeAt(characters - 1) === 0x3d) characters--;
  return Math.floor((characters * 3) / 4);
}
