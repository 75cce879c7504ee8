/** Coefficients of a block as bits (ITU-T H.264, section 9.2). Only blocks whose neighbours hold none (nC = 0). */
import type { BitWriter } from './bit-writer';

/** Codes by number of coefficients, four each by number of trailing ones: their lengths and their bits (table 9-5). */
interface TokenTable {
  readonly lengths: readonly number[];
  readonly bits: readonly number[];
}

const LUMA_TOKENS: TokenTable = {
  lengths: numbers(`
    1 0 0 0  6 2 0 0  8 6 3 0  9 8 7 5  10 9 8 6  11 10 9 7  13 11 10 8  13 13 11 9  13 13 13 10
    14 14 13 11  14 14 14 13  15 15 14 14  15 15 15 14  16 15 15 15  16 16 16 15  16 16 16 16  16 16 16 16`),
  bits: numbers(`
    1 0 0 0  5 1 0 0  7 4 1 0  7 6 5 3  7 6 5 3  7 6 5 4  15 6 5 4  11 14 5 4  8 10 13 4
    15 14 9 4  11 10 13 12  15 14 9 12  11 10 13 8  15 1 9 12  11 14 13 8  7 10 9 12  4 6 5 8`),
};
const CHROMA_TOKENS: TokenTable = {
  lengths: numbers('2 0 0 0  6 1 0 0  6 6 3 0  6 7 7 6  6 8 8 7'),
  bits: numbers('1 0 0 0  7 1 0 0  4 6 1 0  3 3 2 5  2 3 2 0'),
};

/** How many zeros there are below the last coefficient, by number of coefficients (tables 9-7, 9-8 and 9-9). */
const LUMA_ZEROS = codeRows(
  [
    '1 3 3 4 4 5 5 6 6 7 7 8 8 9 9 9',
    '3 3 3 3 3 4 4 4 4 5 5 6 6 6 6',
    '4 3 3 3 4 4 3 3 4 5 5 6 5 6',
    '5 3 4 4 3 3 3 4 3 4 5 5 5',
    '4 4 4 3 3 3 3 3 4 5 4 5',
    '6 5 3 3 3 3 3 3 4 3 6',
    '6 5 3 3 3 2 3 4 3 6',
    '6 4 5 3 2 2 3 3 6',
    '6 6 4 2 2 3 2 5',
    '5 5 3 2 2 2 4',
    '4 4 3 3 1 3',
    '4 4 2 1 3',
    '3 3 1 2',
    '2 2 1',
    '1 1',
  ],
  [
    '1 3 2 3 2 3 2 3 2 3 2 3 2 3 2 1',
    '7 6 5 4 3 5 4 3 2 3 2 3 2 1 0',
    '5 7 6 5 4 3 4 3 2 3 2 1 1 0',
    '3 7 5 4 6 5 4 3 3 2 2 1 0',
    '5 4 3 7 6 5 4 3 2 1 1 0',
    '1 1 7 6 5 4 3 2 1 1 0',
    '1 1 5 4 3 3 2 1 1 0',
    '1 1 1 3 3 2 2 1 0',
    '1 0 1 3 2 1 1 1',
    '1 0 1 3 2 1 1',
    '0 1 1 2 1 3',
    '0 1 1 1 1',
    '0 1 1 1',
    '0 1 1',
    '0 1',
  ],
);
const CHROMA_ZEROS = codeRows(['1 2 3 3', '1 2 2', '1 1'], ['1 1 1 0', '1 1 0', '1 0']);

/** How many zeros there are before a coefficient, by number of remaining zeros (table 9-10). */
const RUNS = codeRows(
  ['1 1', '1 2 2', '2 2 2 2', '2 2 2 3 3', '2 2 3 3 3 3', '2 3 3 3 3 3 3', '3 3 3 3 3 3 3 4 5 6 7 8 9 10 11'],
  ['1 0', '1 1 0', '3 2 1 0', '3 2 1 1 0', '3 2 3 2 1 0', '3 0 1 3 2 5 4', '7 6 5 4 3 2 1 1 1 1 1 1 1 1 1'],
);

interface Code {
  readonly length: number;
  readonly bits: number;
}

const MOST_TRAILING_ONES = 3;
const ESCAPE_PREFIX = 15;
const ESCAPE_BITS = 12;
const LONGEST_SUFFIX = 6;

/** @param levels In scan order, from the lowest frequency: 16 of luma or 4 of chroma. */
export function writeBlock(writer: BitWriter, levels: Int32Array): void {
  const places: number[] = [];
  for (let place = levels.length - 1; place >= 0; place--) if (levels[place] !== 0) places.push(place);
  const ones = trailingOnes(levels, places);
  const isLuma = levels.length === 16;
  const tokens = isLuma ? LUMA_TOKENS : CHROMA_TOKENS;
  const token = 4 * places.length + ones;
  writer.write(tokens.bits[token] ?? 0, tokens.lengths[token] ?? 0);
  if (places.length === 0) return;
  for (let at = 0; at < ones; at++) writer.flag((levels[places[at] as number] as number) < 0);
  writeLevels(writer, levels, places, ones);
  const zeros = (places[0] as number) + 1 - places.length;
  if (places.length < levels.length) {
    writeCode(writer, (isLuma ? LUMA_ZEROS : CHROMA_ZEROS)[places.length - 1]?.[zeros]);
  }
  writeRuns(writer, places, zeros);
}

function trailingOnes(levels: Int32Array, places: readonly number[]): number {
  let ones = 0;
  while (
    ones < Math.min(MOST_TRAILING_ONES, places.length) &&
    Math.abs(levels[places[ones] as number] as number) === 1
  ) {
    ones += 1;
  }
  return ones;
}

/** The levels that are not trailing ones, from the highest frequency; suffixes grow with the levels written so far. */
function writeLevels(writer: BitWriter, levels: Int32Array, places: readonly number[], ones: number): void {
  let suffixBits = places.length > 10 && ones < MOST_TRAILING_ONES ? 1 : 0;
  for (let at = ones; at < places.length; at++) {
    const level = levels[places[at] as number] as number;
    // The first one cannot be 1 or -1 where there was room for another trailing one.
    const code = (level > 0 ? 2 * level - 2 : -2 * level - 1) - (at === ones && ones < MOST_TRAILING_ONES ? 2 : 0);
    writeLevel(writer, code, suffixBits);
    if (suffixBits === 0) suffixBits = 1;
    if (Math.abs(level) > 3 << (suffixBits - 1) && suffixBits < LONGEST_SUFFIX) suffixBits += 1;
  }
}

function writeLevel(writer: BitWriter, code: number, suffixBits: number): void {
  if (suffixBits === 0 && code >= 14 && code < 30) {
    writer.write(1, 15);
    writer.write(code - 14, 4);
    return;
  }
  const escapeFrom = suffixBits === 0 ? 30 : ESCAPE_PREFIX << suffixBits;
  if (code >= escapeFrom) {
    writer.write(1, ESCAPE_PREFIX + 1);
    writer.write(code - escapeFrom, ESCAPE_BITS);
    return;
  }
  writer.write(1, (code >> suffixBits) + 1);
  if (suffixBits > 0) writer.write(code & ((1 << suffixBits) - 1), suffixBits);
}

function writeRuns(writer: BitWriter, places: readonly number[], zeros: number): void {
  let left = zeros;
  for (let at = 0; at + 1 < places.length && left > 0; at++) {
    const run = (places[at] as number) - (places[at + 1] as number) - 1;
    writeCode(writer, RUNS[Math.min(left, RUNS.length) - 1]?.[run]);
    left -= run;
  }
}

function writeCode(writer: BitWriter, code: Code | undefined): void {
  if (code !== undefined) writer.write(code.bits, code.length);
}

function codeRows(lengths: readonly string[], bits: readonly string[]): readonly (readonly Code[])[] {
  return lengths.map((row, index) => {
    const values = numbers(bits[index] ?? '');
    return numbers(row).map((length, at) => ({ length, bits: values[at] ?? 0 }));
  });
}

function numbers(text: string): number[] {
  return text.trim().split(/\s+/).map(Number);
}
