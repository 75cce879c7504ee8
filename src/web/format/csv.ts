/** Begins every file, as in the API: Excel reads one without it in the code page of the system, not as UTF-8. */
export const BYTE_ORDER_MARK = '\uFEFF';

/**
 * Spreadsheets run text with these prefixes as a formula; a leading quote prevents that, as in the exports of the API.
 */
const FORMULA = /^[=+\-@\t\r\n]/;
const QUOTED = /[",\r\n]/;

/** One record of RFC 4180, with its line end. */
export function csvLine(fields: ReadonlyArray<string | number | bigint>): string {
  return `${fields.map(toField).join(',')}\r\n`;
}

function toField(field: string | number | bigint): string {
  if (typeof field !== 'string') return field.toString();
  const text = FORMULA.test(field) ? `'${field}` : field;
  return QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
