export type CsvField = string | number | bigint | null;

/** Begins every file, because Excel reads one without it in the code page of the system, not as UTF-8. */
export const BYTE_ORDER_MARK = '\uFEFF';

/** Spreadsheets run text with these prefixes as a formula; a leading quote prevents that. */
const FORMULA = /^[=+\-@\t\r\n]/;
const QUOTED = /[",\r\n]/;

/** One record of RFC 4180, with its line end. `null` is an empty field. */
export function csvLine(fields: readonly CsvField[]): string {
  return `${fields.map(toField).join(',')}\r\n`;
}

function toField(field: CsvField): string {
  if (field === null) return '';
  if (typeof field !== 'string') return field.toString();
  const text = FORMULA.test(field) ? `'${field}` : field;
  return QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
