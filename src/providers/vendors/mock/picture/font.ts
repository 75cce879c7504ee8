/**
 * A font of 5 x 7 dots for Latin text, five columns a character, the lowest bit at the top; bit 7 is a descender.
 * Accented letters are composed of the letter and its mark. Missing characters are boxes.
 */
export interface Glyph {
  /** Five columns; bit 0 is the top row of eight. */
  readonly columns: readonly number[];
  readonly marks: readonly Mark[];
}

export interface Mark {
  /** Five columns of three rows. */
  readonly columns: readonly number[];
  /** Row of the glyph where the mark begins; negative: above the letter. */
  readonly row: number;
}

export const GLYPH_COLUMNS = 5;
export const GLYPH_ROWS = 8;

const FIRST_CODE = 0x20;
/** Two hexadecimal digits per column, from the space to the tilde, eight characters a line. */
const ASCII = [
  '0000000000 00005F0000 0007000700 147F147F14 242A7F2A12 2313086462 3649562050 0000070000',
  '001C224100 0041221C00 14083E0814 08083E0808 0080600000 0808080808 0060600000 2010080402',
  '3E5149453E 00427F4000 4261514946 2141454B31 1814127F10 2745454539 3C4A494930 0171090503',
  '3649494936 064949291E 0036360000 0080560000 0814224100 1414141414 0041221408 0201510906',
  '324979413E 7E1111117E 7F49494936 3E41414122 7F4141221C 7F49494941 7F09090901 3E4149497A',
  '7F0808087F 00417F4100 2040413F01 7F08142241 7F40404040 7F020C027F 7F0408107F 3E4141413E',
  '7F09090906 3E4151215E 7F09192946 4649494931 01017F0101 3F4040403F 1F2040201F 3F4038403F',
  '6314081463 0708700807 6151494543 007F414100 0204081020 0041417F00 0402010204 8080808080',
  '0001020400 2054545478 7F48444438 3844444420 384444487F 3854545418 087E090102 18A4A4A47C',
  '7F08040478 00447D4000 4080847D00 7F10284400 00417F4000 7C04180478 7C08040478 3844444438',
  'FC24242418 18242418FC 7C08040408 4854545420 043F444020 3C4040207C 1C2040201C 3C4030403C',
  '4428102844 1CA0A0A07C 4464544C44 0008364100 00007F0000 0041360800 0804081008',
];
const GLYPHS: ReadonlyMap<string, readonly number[]> = new Map([
  ...ASCII.flatMap((line) => line.split(' ')).map((digits, index): [string, readonly number[]] => [
    String.fromCharCode(FIRST_CODE + index),
    columnsOf(digits),
  ]),
  ['ı', columnsOf('00447C4000')],
  ['ȷ', columnsOf('4080847C00')],
  ['ß', columnsOf('FE254A4A30')],
  ['æ', columnsOf('2454785458')],
  ['Æ', columnsOf('7E117F4949')],
  ['ø', columnsOf('5834544C34')],
  ['Ø', columnsOf('5E2149423D')],
  ['œ', columnsOf('3844385458')],
  ['ł', columnsOf('00517F4400')],
  ['Ł', columnsOf('087F444240')],
  ['¡', columnsOf('0000740000')],
  ['¿', columnsOf('3048454020')],
  ['€', columnsOf('143E555541')],
  ['£', columnsOf('487E494142')],
  ['°', columnsOf('0006090600')],
  ['·', columnsOf('0000080000')],
]);

const BOX: readonly number[] = columnsOf('7F4141417F');

/** Characters that look the same in dots, or nearly so. */
const LOOKALIKES: ReadonlyMap<string, string> = new Map([
  ...[...'‘’‚′'].map((quote): [string, string] => [quote, "'"]),
  ...[...'“”„″«»'].map((quote): [string, string] => [quote, '"']),
  ...[...'‐‑‒–—−'].map((dash): [string, string] => [dash, '-']),
  ['×', 'x'],
  ['•', '·'],
  ['đ', 'd'],
  ['Đ', 'D'],
  ['Œ', 'Æ'],
]);

/** Combining marks; marks of more than two rows are rare in Latin text, and omitted. */
const MARKS: ReadonlyMap<string, readonly number[]> = new Map([
  ['\u0300', columnsOf('0001020000')],
  ['\u0301', columnsOf('0000020100')],
  ['\u0302', columnsOf('0002010200')],
  ['\u0303', columnsOf('0201020100')],
  ['\u0304', columnsOf('0002020200')],
  ['\u0306', columnsOf('0102020201')],
  ['\u0307', columnsOf('0000010000')],
  ['\u0308', columnsOf('0001000100')],
  ['\u030A', columnsOf('0003030000')],
  ['\u030B', columnsOf('0201000201')],
  ['\u030C', columnsOf('0001020100')],
  ['\u0327', columnsOf('0000050200')],
  ['\u0328', columnsOf('0000000304')],
]);
const BELOW = new Set(['\u0327', '\u0328']);
const BELOW_ROW = 7;
const ABOVE_CAPITAL_ROW = -2;
const ABOVE_SMALL_ROW = 0;
const DOTLESS: ReadonlyMap<string, string> = new Map([
  ['i', 'ı'],
  ['j', 'ȷ'],
]);

/** @param grapheme One character as readers count them. */
export function glyphOf(grapheme: string): Glyph {
  const whole = GLYPHS.get(LOOKALIKES.get(grapheme) ?? grapheme);
  if (whole !== undefined) return { columns: whole, marks: [] };
  const [letter = '', ...accents] = grapheme.normalize('NFD');
  const isAbove = accents.some((accent) => !BELOW.has(accent));
  const columns = GLYPHS.get((isAbove ? DOTLESS.get(letter) : undefined) ?? letter);
  if (columns === undefined || accents.length === 0) return { columns: BOX, marks: [] };
  const isTall = (columns.reduce((union, column) => union | column, 0) & 0b11) !== 0;
  return {
    columns,
    marks: accents.flatMap((accent) => {
      const dots = MARKS.get(accent);
      if (dots === undefined) return [];
      return { columns: dots, row: BELOW.has(accent) ? BELOW_ROW : isTall ? ABOVE_CAPITAL_ROW : ABOVE_SMALL_ROW };
    }),
  };
}

function columnsOf(digits: string): readonly number[] {
  return Array.from({ length: GLYPH_COLUMNS }, (_empty, at) => Number.parseInt(digits.slice(at * 2, at * 2 + 2), 16));
}
