/** A text that grows ends its sentence only with what follows it, or with the line. */
const SENTENCE = /\s*(?:[^\n.!?。！？]|[.!?](?!\s))+(?:[.!?](?=\s)|[。！？]|\n)/y;

/** The sentence of a growing text that begins at `start`, with its end; null while it is not complete. */
export function sentenceAt(text: string, start: number): { readonly sentence: string; readonly end: number } | null {
  SENTENCE.lastIndex = start;
  const [match] = SENTENCE.exec(text) ?? [];
  return match === undefined ? null : { sentence: match.trim(), end: start + match.length };
}
