/** How long coded frames sound, as their own bytes tell. */

/** Opus: milliseconds of one frame, by the upper five bits of the first byte of a packet (RFC 6716, 3.1). */
const OPUS_FRAME_MS = [
  [10, 20, 40, 60, 10, 20, 40, 60, 10, 20, 40, 60, 10, 20, 10, 20],
  [2.5, 5, 10, 20, 2.5, 5, 10, 20, 2.5, 5, 10, 20, 2.5, 5, 10, 20],
].flat();
/** Kilobits per second of MPEG audio: layers 1 to 3 of version 1, then layer 1 and the others of the later versions. */
const MPEG_KILOBITS = [
  [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
];
const ADTS_RATES = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
];
const FLAC_RATES = [88_200, 176_400, 192_000, 8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000];
/** Random bytes look like the header of a frame of FLAC about once in 10 MB. */
const MAX_FALSE_SHARE = 1.01;
const CRC16 = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x8005;
  return crc;
});
/** Seconds of a packet of Opus. */
export function opusSeconds([head = 0, count = 0]: Uint8Array): number {
  const code = head & 3;
  const frames = code === 0 ? 1 : code === 3 ? count & 0x3f : 2;
  return (frames * (OPUS_FRAME_MS[head >> 3] ?? 0)) / 1_000;
}

/** Seconds of the MPEG frames (ISO 11172-3, 13818-3) among some bytes, each by its own header. */
export function mpegSeconds(bytes: Buffer): number {
  let seconds = 0;
  let at = bytes.indexOf(0xff, endOfTags(bytes));
  let isFirst = true;
  while (at !== -1 && at + 4 <= bytes.length) {
    const frame = mpegFrame(bytes.readUInt32BE(at));
    if (frame !== null && at + frame.bytes <= bytes.length) {
      // Encoders write down in a first frame without sound how many there are.
      if (!isFirst || !/Xing|Info|VBRI/.test(bytes.toString('latin1', at + 4, at + 44))) seconds += frame.seconds;
      isFirst = false;
      at += frame.bytes;
    } else at++;
    at = bytes.indexOf(0xff, at);
  }
  return seconds;
}

/** Behind the ID3 tags that a file begins with: pictures look like anything. */
export function endOfTags(bytes: Buffer): number {
  let at = 0;
  while (at + 10 <= bytes.length && bytes.toString('latin1', at, at + 3) === 'ID3') {
    const [a = 0, b = 0, c = 0, d = 0] = bytes.subarray(at + 6, at + 10);
    at += 10 + (((a & 0x7f) << 21) | ((b & 0x7f) << 14) | ((c & 0x7f) << 7) | (d & 0x7f));
  }
  return at;
}

function mpegFrame(header: number): { readonly bytes: number; readonly seconds: number } | null {
  const [version, layer] = [(header >>> 19) & 3, 4 - ((header >>> 17) & 3)];
  const rate = ([44_100, 48_000, 32_000][(header >>> 10) & 3] ?? 0) >> (version === 3 ? 0 : version === 2 ? 1 : 2);
  const kilobits = MPEG_KILOBITS[version === 3 ? layer - 1 : layer === 1 ? 3 : 4]?.[((header >>> 12) & 15) - 1];
  if (header >>> 21 !== 0x7ff || version === 1 || layer === 4 || rate === 0 || kilobits === undefined) return null;
  const samples = layer === 1 ? 384 : layer === 3 && version !== 3 ? 576 : 1_152;
  const slotBytes = layer === 1 ? 4 : 1;
  const slots = Math.floor((samples * kilobits * 125) / (rate * slotBytes)) + ((header >>> 9) & 1);
  return { bytes: slots * slotBytes, seconds: samples / rate };
}

/** Seconds of the ADTS frames (ISO 13818-7) among some bytes, each by its own header. */
export function adtsSeconds(bytes: Buffer): number {
  let seconds = 0;
  let at = bytes.indexOf(0xff, endOfTags(bytes));
  while (at !== -1 && at + 7 <= bytes.length) {
    const length = (bytes.readUInt32BE(at + 3) >>> 13) & 0x1fff;
    const rate = ADTS_RATES[(bytes.readUInt8(at + 2) >> 2) & 15];
    const isFrame = (bytes.readUInt16BE(at) & 0xfff6) === 0xfff0 && rate !== undefined && length > 7;
    if (isFrame && at + length <= bytes.length) {
      seconds += (1_024 * (1 + (bytes.readUInt8(at + 6) & 3))) / rate;
      at += length;
    } else at++;
    at = bytes.indexOf(0xff, at);
  }
  return seconds;
}

/**
 * Seconds of the FLAC frames (RFC 9639, 9.1) among some bytes, each by its own header. What looks like one within a frame
 * whose checksum is right does not count; as checksums can be made so, only as long as all of that is next to nothing.
 */
export function flacSeconds(bytes: Buffer, trackRate: number): number {
  // STREAMINFO comes first, and has the rate for frames that do not tell it.
  const fileRate = bytes.toString('latin1', 0, 4) === 'fLaC' ? bytes.readUIntBE(18, 3) >> 4 : trackRate;
  let [all, sure, doubtful, crc, summedTo] = [0, 0, 0, 0, -1];
  for (let at = bytes.indexOf(0xff); at !== -1 && at + 6 <= bytes.length; at = bytes.indexOf(0xff, at + 1)) {
    if ((bytes.readUInt8(at + 1) & 0xfe) !== 0xf8) continue;
    const seconds = flacFrameSeconds(bytes.subarray(at, at + 16), fileRate);
    if (seconds === 0) continue;
    if (summedTo !== -1) crc = crc16(bytes, summedTo, at, crc);
    summedTo = at;
    all += seconds;
    // Over a whole frame with its checksum there is nothing left.
    if (crc === 0) [sure, doubtful] = [sure + seconds, 0];
    else doubtful += seconds;
  }
  return all > (sure + doubtful) * MAX_FALSE_SHARE ? all : sure + doubtful;
}

/** 0: it is no header of a frame. */
function flacFrameSeconds(head: Buffer, fileRate: number): number {
  const [, , codes = 0, layout = 0, number = 0] = head;
  const [block, rateCode] = [codes >> 4, codes & 15];
  const numberBytes = number < 0x80 ? 1 : Math.clz32(~(number << 24));
  if (block === 0 || rateCode === 15 || layout >> 4 > 10 || (layout & 1) === 1) return 0;
  const blockBytes = block === 6 ? 1 : block === 7 ? 2 : 0;
  const rateBytes = rateCode < 12 ? 0 : rateCode === 12 ? 1 : 2;
  const blockAt = 4 + numberBytes;
  const end = blockAt + blockBytes + rateBytes;
  if (end >= head.length || crc8(head.subarray(0, end)) !== head[end]) return 0;
  const samples =
    blockBytes > 0
      ? 1 + head.readUIntBE(blockAt, blockBytes)
      : block === 1
        ? 192
        : block < 6
          ? 576 << (block - 2)
          : 256 << (block - 8);
  const coded = rateBytes > 0 ? head.readUIntBE(blockAt + blockBytes, rateBytes) : 0;
  const rate =
    rateCode === 0 ? fileRate : rateBytes > 0 ? coded * ([1_000, 1, 10][rateCode - 12] ?? 1) : FLAC_RATES[rateCode - 1];
  return rate ? samples / rate : 0;
}

/** Of polynomial x^8 + x^2 + x + 1. */
function crc8(bytes: Buffer): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x80) === 0 ? crc << 1 : ((crc << 1) ^ 0x07) & 0xff;
  }
  return crc;
}

/** Of polynomial x^16 + x^15 + x^2 + 1. */
function crc16(bytes: Buffer, from: number, to: number, before: number): number {
  let crc = before;
  for (let at = from; at < to; at++) crc = ((crc << 8) & 0xffff) ^ (CRC16[(crc >> 8) ^ (bytes[at] ?? 0)] ?? 0);
  return crc;
}
