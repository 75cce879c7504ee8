/**
 * Decimal numbers with at most this many digits survive `JSON.parse` and `JSON.stringify`, unless too large for a
 * double.
 */
const ALWAYS_EXACT_DIGITS = 15;
/** Maximum length of a number that keeps its digits. */
const MAX_LITERAL_LENGTH = 400;
const DECIMAL = /^-?(\d+)(?:\.(\d+))?(?:e([-+]?\d+))?$/i;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** An open object or array at a position in the text. */
interface Level {
  readonly isObject: boolean;
  /** Commas so far. */
  index: number;
  /** Start of the name of the current member. */
  nameStart: number;
}

/**
 * The JSON path of the first number beyond what a double represents exactly (2^53 - 1) that does not keep its digits
 * through `JSON.parse` and `JSON.stringify`; '' when the text is only that number, `undefined` without such a number.
 * Smaller numbers follow the usual rules of doubles. The text is valid JSON. One pass: ten megabytes take some 100 ms,
 * so run it only on texts with such large numbers.
 */
export function findInexactNumber(text: string): string | undefined {
  const levels: Level[] = [];
  let stringStart = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const level = levels.at(-1);
    if (code === QUOTE) {
      stringStart = at;
      at = endOfString(text, at);
    } else if (code === 0x7b || code === 0x5b) {
      levels.push({ isObject: code === 0x7b, index: 0, nameStart: 0 });
    } else if (code === 0x7d || code === 0x5d) {
      levels.pop();
    } else if (code === 0x3a && level !== undefined) {
      level.nameStart = stringStart;
    } else if (code === 0x2c && level !== undefined) {
      level.index++;
    } else if (code === 0x2d || isDigit(code)) {
      const end = endOfNumber(text, at);
      if (losesDigits(text.slice(at, end))) return pathOf(levels, text);
      at = end - 1;
    }
  }
  return undefined;
}

function losesDigits(literal: string): boolean {
  const value = Number(literal);
  if (Math.abs(value) <= Number.MAX_SAFE_INTEGER) return false;
  if (literal.length > MAX_LITERAL_LENGTH || !Number.isFinite(value)) return true;
  return (
    literal.length > ALWAYS_EXACT_DIGITS && String(value) !== literal && decimalOf(literal) !== decimalOf(String(value))
  );
}

/** Canonical form: digits without leading and trailing zeros, and the exponent of the last digit. */
function decimalOf(literal: string): string {
  const [, whole = '', fraction = '', exponent = '0'] = DECIMAL.exec(literal) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  return `${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (; text.charCodeAt(at) !== QUOTE; at++) if (text.charCodeAt(at) === BACKSLASH) at++;
  return at;
}

/** The position after the number that begins at `start`. */
function endOfNumber(text: string, start: number): number {
  let at = start + 1;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    // Digits, and `+ - . e E`.
    if (!isDigit(code) && code !== 0x2b && code !== 0x2d && code !== 0x2e && code !== 0x65 && code !== 0x45) break;
  }
  return at;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function pathOf(levels: readonly Level[], text: string): string {
  let path = '';
  for (const { isObject, index, nameStart } of levels) {
    if (!isObject) {
      path += `[${index}]`;
      continue;
    }
    const name = JSON.parse(text.slice(nameStart, endOfString(text, nameStart) + 1)) as string;
    path += path === '' ? name : `.${name}`;
  }
  return path;
}
