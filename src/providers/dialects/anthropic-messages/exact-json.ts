/** A number that JavaScript may write differently: more digits than it keeps, a fraction, or an exponent. */
const UNUSUAL_NUMBER = /\d{16}|\d\.\d|\d[eE]/;

interface ExactJson {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): unknown;
}

/**
 * Parses JSON so that `JSON.stringify` writes every number unchanged: tool arguments with 19-digit identifiers must
 * survive the way to the client and back.
 */
export function parseExactly(text: string): unknown {
  if (!UNUSUAL_NUMBER.test(text)) return JSON.parse(text);
  const { parse, rawJSON } = JSON as unknown as ExactJson;
  return parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source ? rawJSON(source) : value,
  );
}
