const LONGEST_SEARCH = 200;
/** More of a key than the eleven characters that lists show. */
const SECRET = /\b(sk-llm-[0-9A-Za-z]{4})([0-9A-Za-z]+)/g;
/** Of the hidden characters and the last four. */
const REST_LENGTH = 34;

/** The text for the search of the API. A pasted key becomes what lists show of it: addresses are kept and logged. */
export function keySearchOf(text: string): string | undefined {
  const shown = text.replaceAll(SECRET, (_all, prefix: string, rest: string) =>
    rest.length === REST_LENGTH ? `${prefix}…${rest.slice(-4)}` : prefix,
  );
  const search = shown.replaceAll(/[\p{Cc}\p{Cs}]+/gu, ' ').trim();
  return search === '' || search.length > LONGEST_SEARCH ? undefined : search;
}
