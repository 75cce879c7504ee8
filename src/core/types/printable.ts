/**
 * Characters that can break a line of a log or mail, or display something other than the stored text: control
 * characters, lone surrogates, line and paragraph separators, and marks that reverse the direction of text.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069]/u;

/** Whether names and references may contain the text. */
export function isPrintable(text: string): boolean {
  return !UNPRINTABLE.test(text);
}
