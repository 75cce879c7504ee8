import { crc32 } from 'node:zlib';

const EMOJI = String.raw`\p{Extended_Pictographic}\uFE0F?[\u{1F3FB}-\u{1F3FF}]?`;
const CJK = String.raw`[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]`;
const PIECES = [
  CJK,
  String.raw`(?:[\p{L}\p{N}]\p{M}*){1,8}`,
  String.raw`\p{Regional_Indicator}{2}`,
  String.raw`${EMOJI}(?:\u200D${EMOJI})*`,
  String.raw`\S\p{M}*`,
];
const TOKEN = new RegExp(String.raw`\s*(?:${PIECES.join('|')})|\s+`, 'gu');
const BYTES_PER_TOKEN = 4;

/**
 * Splits a text into tokens; joined, they are the original text. A token is at most eight letters with the white space
 * before them, one CJK character, one whole emoji or one other character: cutting by token never splits a character.
 */
export function tokenize(text: string): string[] {
  return text.match(TOKEN) ?? [];
}

/** Estimated prompt tokens of texts. */
export function promptTokensOf(texts: readonly string[]): number {
  return Math.ceil(texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0) / BYTES_PER_TOKEN);
}

/** The first `length` code units at most, without half a surrogate pair at the end. */
export function headOf(text: string, length: number): string {
  return text.slice(0, length).replace(/\p{Cs}$/u, '');
}

/** A 32-bit unsigned integer, equal for equal texts, folded into an earlier one. */
export function hashText(text: string, earlier = 0): number {
  return crc32(text, earlier);
}

/** A number in [0, 1) that looks random and is always the same for the same seed (the mixer of mulberry32). */
export function seededNumber(seed: number): number {
  const state = (seed + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), state | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}
