/**
 * What the mock calls a token: at most eight letters or digits of a word with the white space before them, one CJK
 * character, one whole emoji (flags, skin tones and joined families included), or one other character. So cutting or
 * streaming by token never splits a character.
 */
const EMOJI = String.raw`\p{Extended_Pictographic}\uFE0F?[\u{1F3FB}-\u{1F3FF}]?`;
const TOKEN = new RegExp(
  [
    String.raw`\s*(?:[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]`,
    String.raw`|(?:[\p{L}\p{N}]\p{M}*){1,8}`,
    String.raw`|\p{Regional_Indicator}{2}`,
    String.raw`|${EMOJI}(?:\u200D${EMOJI})*`,
    String.raw`|\S\p{M}*)|\s+`,
  ].join(''),
  'gu',
);

/** Splits a text into tokens; joined, they are the original text. */
export function tokenize(text: string): string[] {
  return text.match(TOKEN) ?? [];
}

/** The first `length` code units at most, without half a surrogate pair at the end. */
export function headOf(text: string, length: number): string {
  if (text.length <= length) {
    return text;
  }
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}

/** The last `length` code units at most, without half a surrogate pair at the start. */
export function tailOf(text: string, length: number): string {
  if (text.length <= length) {
    return text;
  }
  const first = text.charCodeAt(text.length - length);
  return text.slice(text.length - (first >= 0xdc00 && first <= 0xdfff ? length - 1 : length));
}
