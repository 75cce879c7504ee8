/** Finds coded frames and their durations from their bytes alone. */

/** One frame of a file. */
export interface Frame {
  readonly from: number;
  readonly to: number;
  readonly seconds: number;
}

/** Opus: milliseconds of one frame, by the upper five bits of the first byte of a packet (RFC 6716, 3.1). */
const OPUS_FRAME_MS = [
  [10, 20, 40, 60, 10, 20, 40, 60, 10, 20, 40, 60, 10, 20, 10, 20],
  [2.5, 5, 10, 20, 2.5, 5, 10, 20, 2.5, 5, 10, 20, 2.5, 5, 10, 20],
].flat();
const OPUS_SAMPLES_PER_MS = 48;
const [MAX_OPUS_PACKET_SAMPLES, MAX_OPUS_FRAME_BYTES] = [5_760, 1_275];
/** Kilobits per second of MPEG audio: layers 1 to 3 of version 1, then layer 1 and the others of the later versions. */
const MPEG_KILOBITS = [
  [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
];
/** Samples at 48,000 Hz in an Opus packet; `null` for invalid packets (RFC 6716, 3.2). */
export function opusSamples(packet: Uint8Array): number | null {
  const [head] = packet;
  if (head === undefined) return null;
  const frames = opusFrames(packet, head & 3);
  const samples = frames * (OPUS_FRAME_MS[head >> 3] ?? 0) * OPUS_SAMPLES_PER_MS;
  return samples > 0 && samples <= MAX_OPUS_PACKET_SAMPLES ? samples : null;
}

/** The number of frames; 0 when they do not fill the packet. */
function opusFrames(packet: Uint8Array, code: number): number {
  const bytes = packet.length - 1;
  if (code === 0) return bytes <= MAX_OPUS_FRAME_BYTES ? 1 : 0;
  if (code === 1) return bytes % 2 === 0 && bytes / 2 <= MAX_OPUS_FRAME_BYTES ? 2 : 0;
  if (code === 2) return fitsOpusFrames(packet, 1, packet.length, 2) ? 2 : 0;
  const count = packet[1] ?? 0;
  const frames = count & 0x3f;
  let at = 2;
  let to = packet.length;
  for (let more = (count & 0x40) !== 0; more; at++) {
    const padding = packet[at] ?? 0;
    more = padding === 255;
    to -= more ? 254 : padding;
  }
  if (frames === 0 || at > to) return 0;
  if ((count & 0x80) !== 0) return fitsOpusFrames(packet, at, to, frames) ? frames : 0;
  return (to - at) % frames === 0 && (to - at) / frames <= MAX_OPUS_FRAME_BYTES ? frames : 0;
}

/** Whether the frames fit; all but the last are preceded by their lengths. */
function fitsOpusFrames(packet: Uint8Array, from: number, to: number, frames: number): boolean {
  let [at, announced] = [from, 0];
  for (let frame = 1; frame < frames; frame++) {
    const first = packet[at++] ?? 0;
    announced += first < 252 ? first : first + 4 * (packet[at++] ?? 0);
  }
  const last = to - at - announced;
  return last >= 0 && last <= MAX_OPUS_FRAME_BYTES;
}

/**
 * The MPEG audio frames (ISO 11172-3, 13818-3) in a buffer, each by its header. After other bytes, two consecutive
 * frames are needed to resynchronize. Info frames of encoders contain no audio and are skipped.
 */
export function* mpegFrames(bytes: Buffer, from: number): Generator<Frame> {
  let isInStep = false;
  for (let at = bytes.indexOf(0xff, from); at !== -1 && at + 4 <= bytes.length;) {
    const frame = mpegFrame(bytes.readUInt32BE(at));
    const to = at + (frame?.bytes ?? 0);
    const isFrame = frame !== null && to <= bytes.length && (isInStep || isFrameOrEnd(bytes, to));
    if (frame !== null && isFrame) {
      if (!isFrameCount(bytes, at)) yield { from: at, to, seconds: frame.seconds };
      at = to;
      isInStep = bytes[at] === 0xff;
      if (isInStep) continue;
    } else {
      at++;
      isInStep = false;
    }
    at = bytes.indexOf(0xff, at);
  }
}

function isFrameOrEnd(bytes: Buffer, at: number): boolean {
  if (at + 4 > bytes.length || bytes.toString('latin1', at, at + 3) === 'TAG') return true;
  return mpegFrame(bytes.readUInt32BE(at)) !== null;
}

/** The offset of an encoder's info tag, by version, channels and checksum. */
const COUNT_OFFSETS = [13, 15, 21, 23, 36, 38];
const COUNT_NAMES: ReadonlySet<string> = new Set(['Xing', 'Info', 'VBRI']);

function isFrameCount(bytes: Buffer, at: number): boolean {
  return COUNT_OFFSETS.some((offset) => {
    const first = bytes[at + offset];
    const isLetter = first === 0x58 || first === 0x49 || first === 0x56;
    return isLetter && COUNT_NAMES.has(bytes.toString('latin1', at + offset, at + offset + 4));
  });
}

/** The offset after leading ID3 tags, whose pictures may look like frames. */
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

/** A frame of ADTS (ISO 13818-7) with AAC-LC in it. */
export interface AdtsFrame {
  readonly from: number;
  readonly payloadFrom: number;
  readonly to: number;
  readonly rateIndex: number;
  readonly channels: number;
}

const [ADTS_SYNC, ADTS_SYNC_MASK, ADTS_LOW_COMPLEXITY, ADTS_RATES] = [0xfff0, 0xfff6, 1, 13];

type EndOfFrame = (bytes: Uint8Array, from: number, to: number, rateIndex: number) => number | null;

/** The ADTS frames in a buffer. @param endOf checks that coded audio follows a header. */
export function* adtsFrames(bytes: Buffer, from: number, endOf: EndOfFrame): Generator<AdtsFrame> {
  for (let at = bytes.indexOf(0xff, from); at !== -1; at = bytes.indexOf(0xff, at)) {
    const frame = adtsFrame(bytes, at);
    if (frame !== null && endOf(bytes, frame.payloadFrom, frame.to, frame.rateIndex) !== null) {
      yield frame;
      at = frame.to;
    } else at++;
  }
}

function adtsFrame(bytes: Buffer, at: number): AdtsFrame | null {
  if (at + 7 > bytes.length || (bytes.readUInt16BE(at) & ADTS_SYNC_MASK) !== ADTS_SYNC) return null;
  const word = bytes.readUInt32BE(at + 2);
  const [profile, rateIndex, channels] = [word >>> 30, (word >>> 26) & 15, (word >>> 22) & 7];
  const payloadFrom = at + ((bytes.readUInt8(at + 1) & 1) === 1 ? 7 : 9);
  const to = at + ((bytes.readUInt32BE(at + 3) >>> 13) & 0x1fff);
  const isKnown = profile === ADTS_LOW_COMPLEXITY && rateIndex < ADTS_RATES && channels > 0;
  return isKnown && payloadFrom < to && to <= bytes.length ? { from: at, payloadFrom, to, rateIndex, channels } : null;
}

/** ALAC elements with audio: one channel, two channels, low frequencies. */
const ALAC_ELEMENTS: ReadonlySet<number> = new Set([0, 1, 3]);

/** Samples in an ALAC packet; `null` for invalid packets. @param frameSamples default for packets without a count. */
export function alacSamples(packet: Buffer, frameSamples: number): number | null {
  if (packet.length < 7) return null;
  const head = packet.readUInt32BE(0);
  const isExplicit = ((head >>> 12) & 1) === 1;
  const tail = packet.readUIntBE(2, 5);
  // 23 bits precede the number: the tag, 16 unused bits, and four flags.
  const samples = isExplicit ? Math.floor(tail / 2) % 2 ** 32 : frameSamples;
  return ALAC_ELEMENTS.has(head >>> 29) && samples > 0 && samples <= frameSamples ? samples : null;
}

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
