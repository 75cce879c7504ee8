import type { Frame } from './coded-frames';

const FLAC_RATES = [88_200, 176_400, 192_000, 8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000];
const CRC16 = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x8005;
  return crc;
});

/** A frame of FLAC. */
export interface FlacFrame extends Frame {
  readonly samples: number;
}

interface FlacHeader {
  readonly samples: number;
  readonly rateHz: number;
  /** Frame number or, with variable block sizes, the number of its first sample. */
  readonly number: number;
  readonly isVariable: boolean;
}

/** Maximum share of apparent headers within frames by duration; above the rate of random matches. */
const MAX_FALSE_SHARE = 0.05;

/**
 * The FLAC frames (RFC 9639, 9.1) in a buffer. A frame ends before the next header where its checksum matches; damaged
 * frames are skipped.
 * @param rateHz of the stream.
 * @throws Error when frames differ in rate, or contain bytes that decoders could interpret as further frames.
 */
export function* flacFrames(bytes: Buffer, from: number, rateHz: number): Generator<FlacFrame> {
  let open: (FlacHeader & { readonly from: number }) | null = null;
  let [summedTo, crc, falseSeconds, pendingSeconds, allSeconds] = [from, 0, 0, 0, 0];
  for (let at = bytes.indexOf(0xff, from); ; at = bytes.indexOf(0xff, at + 1)) {
    const isEnd = at === -1 || at + 6 > bytes.length;
    const header = isEnd ? null : flacHeader(bytes.subarray(at, at + 16), rateHz);
    if (!isEnd && header === null) continue;
    const to = isEnd ? bytes.length : at;
    if (open !== null) crc = crc16(bytes, summedTo, to, crc);
    summedTo = to;
    // Tags may follow the last frame.
    const isWhole = open !== null && (crc === 0 || isEnd);
    if (open !== null && isWhole) {
      if (open.rateHz !== rateHz) throw new Error('more than one rate');
      const seconds = open.samples / rateHz;
      yield { from: open.from, to, seconds, samples: open.samples };
      allSeconds += seconds;
      falseSeconds += pendingSeconds;
    }
    if (header === null) break;
    if (open === null || isWhole || isNext(open, header)) {
      [open, crc, pendingSeconds] = [{ ...header, from: at }, 0, 0];
    } else {
      pendingSeconds += header.samples / header.rateHz;
    }
  }
  if (falseSeconds > allSeconds * MAX_FALSE_SHARE) throw new Error('frames within frames');
}

function isNext(before: FlacHeader, header: FlacHeader): boolean {
  const { isVariable, number, samples, rateHz } = before;
  const step = isVariable ? samples : 1;
  return header.isVariable === isVariable && header.number === number + step && header.rateHz === rateHz;
}

function flacHeader(head: Buffer, streamRateHz: number): FlacHeader | null {
  const [, sync = 0, codes = 0, layout = 0, first = 0] = head;
  if ((sync & 0xfe) !== 0xf8) return null;
  const [block, rateCode] = [codes >> 4, codes & 15];
  const numberBytes = first < 0x80 ? 1 : Math.clz32(~(first << 24));
  if (block === 0 || rateCode === 15 || layout >> 4 > 10 || (layout & 1) === 1) return null;
  const blockBytes = block === 6 ? 1 : block === 7 ? 2 : 0;
  const rateBytes = rateCode < 12 ? 0 : rateCode === 12 ? 1 : 2;
  const blockAt = 4 + numberBytes;
  const end = blockAt + blockBytes + rateBytes;
  if (end >= head.length || crc8(head.subarray(0, end)) !== head[end]) return null;
  const samples =
    blockBytes > 0
      ? 1 + head.readUIntBE(blockAt, blockBytes)
      : block === 1
        ? 192
        : block < 6
          ? 576 << (block - 2)
          : 256 << (block - 8);
  const coded = rateBytes > 0 ? head.readUIntBE(blockAt + blockBytes, rateBytes) : 0;
  const rateHz =
    rateCode === 0
      ? streamRateHz
      : rateBytes > 0
        ? coded * ([1_000, 1, 10][rateCode - 12] ?? 1)
        : (FLAC_RATES[rateCode - 1] ?? 0);
  let number = numberBytes === 1 ? first : first & (0x7f >> numberBytes);
  for (let index = 5; index < blockAt; index++) number = number * 64 + ((head[index] ?? 0) & 0x3f);
  return rateHz > 0 ? { samples, rateHz, number, isVariable: (sync & 1) === 1 } : null;
}

/** Of polynomial x^8 + x^2 + x + 1. */
export function crc8(bytes: Buffer): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x80) === 0 ? crc << 1 : ((crc << 1) ^ 0x07) & 0xff;
  }
  return crc;
}

/** Of polynomial x^16 + x^15 + x^2 + 1. */
export function crc16(bytes: Buffer, from = 0, to = bytes.length, before = 0): number {
  let crc = before;
  for (let at = from; at < to; at++) crc = ((crc << 8) & 0xffff) ^ (CRC16[(crc >> 8) ^ (bytes[at] ?? 0)] ?? 0);
  return crc;
}
