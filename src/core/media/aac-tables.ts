/** Tables of AAC-LC (ISO 14496-3, 4.A and 4.5.4), limited to code lengths. */

/** Widths of scale factor bands in a long and in a short window, as `width x count`, by sampling rate. */
const BANDS_OF_RATES: readonly (readonly [rates: number, long: string, short: string])[] = [
  [2, '4x14 8x5 12x5 16x2 24 28 36 44 64x11', '4x6 8x3 16 28 36'],
  [1, '4x14 8x4 12x3 16x3 20 24x2 28 36 40x18', '4x6 8x3 16 28 36'],
  [2, '4x10 8x7 12x4 16x2 20x2 24x2 28x2 32x19 96', '4x5 8x3 12x3 16x3'],
  [1, '4x10 8x7 12x4 16x2 20x2 24x2 28x2 32x22', '4x5 8x3 12x3 16x3'],
  [2, '4x11 8x10 12x4 16x3 20x2 24x2 28x2 32 36x2 40 44 48 52x2 64x5', '4x7 8x3 12x2 16x2 20'],
  [3, '8x11 12x9 16x4 20x3 24x2 28x2 32 36 40x2 44 48 52 56 60 64x3', '4x8 8x2 12x2 16 20x2'],
  [2, '12x13 16x7 20x4 24x3 28x2 32 36x2 40 44 48 52 56 60 64 80', '4x7 8x4 12 16 20x2'],
];

/**
 * The spectral codebooks 1 to 11. Their codes are canonical: `length:` is followed by the number of codewords of that
 * length or, where sign bits follow a codeword, by one digit for each in the order of the codes: how many sign bits. In
 * book 11 the digits 3, 4 and 5 mean one escape and one sign, one escape and two signs, two escapes and two signs.
 */
const SIGNED_BOOKS = new Set([1, 2, 5, 6]);
const ESCAPE_BOOK = 11;
const BOOKS = [
  '',
  '1:1 5:8 7:24 9:24 10:8 11:16',
  '3:1 4:1 5:7 6:24 7:15 8:19 9:14',
  '1:0 4:1111 5:22 6:222323 7:433 8:11223 9:232331221224334 10:323244332333223 11:24334423 12:333334444 13:223 14:343 15:44432 16:33',
  '4:4333312022 5:221211 7:444433333 8:333333322222222222211 9:11444444 10:33333333343334 11:44222222433 12:33',
  '1:1 4:4 5:4 7:4 8:12 9:12 10:12 11:18 12:10 13:4',
  '4:9 6:16 7:13 8:8 9:23 10:8 11:4',
  '1:0 3:11 4:2 6:2211 7:22211 8:2222222211 9:22212122222222 10:211222222222222 11:11222222 12:2222',
  '3:2 4:21212 5:0112222 6:2222211222 7:22222221212222 8:222121222222222 9:22121222 10:2112',
  '1:0 3:11 4:2 6:2211 7:222 8:11222222 9:22112222222 10:12122222222122222222 11:1222122221222211222222222222212 12:22122222222222222222222122122222221222 13:22222222222212212222122222222222 14:22222222222222 15:2222',
  '4:222 5:21122222 6:11222202211222 7:22222222212122222 8:2222222121222222222222222 9:2221222221222222222222222221212 10:22222212222221222222222222222221212122222 11:2222222222121222122212 12:22222122',
  '4:02 5:511222 6:2221212 7:2222221122222222 8:22222224444424121424444222224422444224244424224422214422221 9:2442242422222224221222222122222222222222122222222222322 10:22223212222222222222222222222222222221222222222222222222122222222222222222222222222211222222222 11:2222222222222222212212122212222211222212212 12:112112',
];
/** Scale factors: code lengths only. */
const SCALE_FACTORS = '1:1 3:1 4:3 5:2 6:4 7:3 8:5 9:4 10:6 11:6 12:6 13:5 14:8 15:4 16:7 17:3 18:7 19:46';
const ESCAPES = [0, 0, 0, 1, 1, 2];
const SIGNS = [0, 1, 2, 1, 2, 2];

/** Lookup tables to skip codewords of a Huffman code. */
export interface Codebook {
  readonly maxBits: number;
  /** Indexed by the next `maxBits` bits: the number of bits to skip in the lower 6 bits, then the number of escapes. */
  readonly table: Uint8Array;
  readonly dimensions: number;
}

/** By codebook number. */
export const CODEBOOKS: readonly Codebook[] = BOOKS.map((text, book) => {
  const isSigned = SIGNED_BOOKS.has(book);
  return toCodebook(
    text,
    book < 5 ? 4 : 2,
    (digit) => {
      if (isSigned) return 0;
      return book === ESCAPE_BOOK ? (SIGNS[digit] ?? 0) + ((ESCAPES[digit] ?? 0) << 6) : digit;
    },
    isSigned,
  );
});
export const SCALE_FACTOR_BOOK = toCodebook(SCALE_FACTORS, 1, () => 0, true);
/** Starts of the scale factor bands by sampling rate index; the last number is the end. */
export const BANDS = BANDS_OF_RATES.flatMap(([rates, long, short]) => {
  const bands = { long: toOffsets(long), short: toOffsets(short) };
  return Array.from({ length: rates }, () => bands);
});

function toCodebook(
  text: string,
  dimensions: number,
  extraOf: (digit: number) => number,
  isCounted: boolean,
): Codebook {
  const groups = text === '' ? [] : text.split(' ').map((group) => group.split(':') as [string, string]);
  const maxBits = Number(groups.at(-1)?.[0] ?? 0);
  const table = new Uint8Array(1 << maxBits);
  let at = 0;
  for (const [length, codes] of groups) {
    const digits = isCounted ? Array.from({ length: Number(codes) }, () => 0) : Array.from(codes, Number);
    const span = 1 << (maxBits - Number(length));
    for (const digit of digits) {
      table.fill(Number(length) + extraOf(digit), at, at + span);
      at += span;
    }
  }
  return { maxBits, table, dimensions };
}

function toOffsets(text: string): Uint16Array {
  const widths = text.split(' ').flatMap((each) => {
    const [width = 0, count = 1] = each.split('x').map(Number);
    return Array.from({ length: count }, () => width);
  });
  let end = 0;
  return Uint16Array.from([0, ...widths.map((width) => (end += width))]);
}
