/** Recorders for codings without a packet container: PCM, MPEG audio and FLAC. */
import { flacFrames, mpegFrames } from './coded-frames';
import type { PacketRemuxer } from './packet-remuxers';
import type { ProbedAudio } from './media-probes';
import { ByteSink, wavHeader, type WavFormat } from './container-writers';

/** Maximum percentage of FLAC bytes outside complete frames. */
const MAX_DAMAGED_PERCENT = 5;

/** The conversion of samples to WAV: byte order and sign. */
export interface PcmLayout extends WavFormat {
  readonly isBigEndian: boolean;
  readonly isSigned8: boolean;
}

/** Uncompressed audio in WAV. */
export class PcmRemuxer implements PacketRemuxer {
  private readonly titles: Buffer;
  private readonly layout: PcmLayout;
  private readonly sink: ByteSink;

  /** @param titles a whole WAV chunk, which is kept in front of the audio. */
  constructor(layout: PcmLayout, expectedBytes: number, titles: Buffer = Buffer.alloc(0)) {
    this.layout = layout;
    this.titles = titles;
    this.sink = new ByteSink(expectedBytes);
  }

  add(packet: Uint8Array): void {
    this.sink.push(packet);
  }

  finish(): ProbedAudio {
    const { sampleBytes, channels, rateHz, isBigEndian, isSigned8 } = this.layout;
    const all = this.sink.view();
    const data = Buffer.from(all.buffer, 0, all.length - (all.length % (sampleBytes * channels)));
    if (isBigEndian) reverseSamples(data, sampleBytes);
    if (isSigned8) for (let at = 0; at < data.length; at++) data[at] = (data[at] ?? 0) ^ 0x80;
    const header = wavHeader(this.layout, data.length, this.titles);
    const file = new ByteSink(header.length + data.length);
    file.push(header);
    file.push(data);
    const durationSeconds = data.length / (sampleBytes * channels * rateHz);
    return { durationSeconds, contentType: 'audio/wav', extension: 'wav', bytes: file.view() };
  }
}

function reverseSamples(data: Buffer, sampleBytes: number): void {
  for (let at = 0; at < data.length; at += sampleBytes) data.subarray(at, at + sampleBytes).reverse();
}

/** MPEG audio as bare frames. */
export class MpegRemuxer implements PacketRemuxer {
  private readonly sink: ByteSink;

  constructor(expectedBytes: number) {
    this.sink = new ByteSink(expectedBytes);
  }

  add(packet: Uint8Array): void {
    this.sink.push(packet);
  }

  finish(): ProbedAudio {
    const all = this.sink.view();
    return remuxMpeg(Buffer.from(all.buffer, 0, all.length), 0);
  }
}

/**
 * Short titles in front of MPEG frames are kept only without the first byte of frames, so that they contain no frame.
 */
const MAX_TAG_BYTES = 4_096;

/** @param from end of the tags. @throws Error for frames that other readers could interpret differently. */
export function remuxMpeg(source: Buffer, from: number): ProbedAudio {
  const file = new ByteSink(source.length);
  const tag = source.subarray(0, from);
  if (tag.length <= MAX_TAG_BYTES && !tag.includes(0xff)) file.push(tag);
  let durationSeconds = 0;
  for (const frame of mpegFrames(source, from)) {
    file.push(source.subarray(frame.from, frame.to));
    durationSeconds += frame.seconds;
  }
  const bytes = file.view();
  if (looksLikeStream(Buffer.from(bytes.buffer, 0, bytes.length))) throw new Error('another container');
  return { durationSeconds, contentType: 'audio/mpeg', extension: 'mp3', bytes };
}

const FLAC_HEAD_BYTES = 42;

/** FLAC as frames behind one block of metadata. */
export class FlacRemuxer implements PacketRemuxer {
  private readonly head: Buffer;
  private readonly sink: ByteSink;

  /** @param head begins with `fLaC`, as files do. */
  constructor(head: Uint8Array, expectedBytes: number) {
    this.head = Buffer.from(head.subarray(0, FLAC_HEAD_BYTES));
    this.sink = new ByteSink(expectedBytes);
  }

  add(packet: Uint8Array): void {
    this.sink.push(packet);
  }

  finish(): ProbedAudio {
    const all = this.sink.view();
    return remuxFlac(this.head, Buffer.from(all.buffer, 0, all.length), 0);
  }
}

/** @throws Error for frames that contradict the header, or that other readers could interpret differently. */
export function remuxFlac(head: Buffer, source: Buffer, from: number): ProbedAudio {
  if (head.length < FLAC_HEAD_BYTES || head.toString('latin1', 0, 4) !== 'fLaC') throw new Error('not FLAC');
  const rateHz = head.readUIntBE(18, 3) >> 4;
  const file = new ByteSink(FLAC_HEAD_BYTES + source.length - from);
  const info = Buffer.concat([Buffer.from('fLaC\x80\0\0\x22', 'latin1'), head.subarray(8, 26), Buffer.alloc(16)]);
  file.push(info);
  let [samples, coveredBytes] = [0, 0];
  for (const frame of flacFrames(source, from, rateHz)) {
    file.push(source.subarray(frame.from, frame.to));
    samples += frame.samples;
    coveredBytes += frame.to - frame.from;
  }
  if (coveredBytes * 100 < (source.length - from) * (100 - MAX_DAMAGED_PERCENT)) throw new Error('damaged');
  const bytes = file.view();
  const written = Buffer.from(bytes.buffer, 0, bytes.length);
  // Frame sizes and the audio checksum are optional.
  written.fill(0, 12, 18);
  written.writeUInt8((written.readUInt8(21) & 0xf0) | Math.floor(samples / 2 ** 32), 21);
  written.writeUInt32BE(samples % 2 ** 32, 22);
  if (looksLikeStream(written)) throw new Error('another container');
  return { durationSeconds: samples / rateHz, contentType: 'audio/flac', extension: 'flac', bytes };
}

/** Magic bytes of audio containers, supported here or not: AIFF, CAF, AU, AMR, W64, ASF, AC-3 and others. */
const CONTAINERS = (
  'FORM caff .snd #!AMR RIFF RIFX RF64 riff OggS fLaC FLV wvpk TTA MPCK MP+ FRM8 DSD ' +
  '0&\xb2u \x1aE\xdf\xa3 \0\0\x01\xba \0\0\x01\xb3 \x0bw \x7f\xfe\x80\x01'
).split(' ');
/** The same for box-based containers, whose size comes first. */
const BOXES: ReadonlySet<string> = new Set(['ftyp', 'styp', 'moov', 'mdat', 'wide', 'free', 'skip']);
/** The sync byte of a transport stream, at the start of each packet. */
const [TRANSPORT_SYNC, TRANSPORT_BYTES] = [0x47, 188];
const [PROGRAM_PACK, FIRST_AUDIO, LAST_AUDIO] = [0xba, 0xc0, 0xdf];

/** Whether a file is an MPEG program stream. */
export function isProgramStream(file: Buffer): boolean {
  return file.length > 4 && file.readUInt32BE(0) === (0x100 | PROGRAM_PACK);
}

/** The bytes of the first stream of MPEG audio in an MPEG program stream (ISO 13818-1, 2.5). */
export function* programStreamAudio(file: Buffer): Generator<Buffer> {
  let stream: number | null = null;
  const startCode = Buffer.from([0, 0, 1]);
  for (let at = 0; at !== -1 && at + 9 <= file.length; at = file.indexOf(startCode, at)) {
    const id = file.readUInt8(at + 3);
    if (id < 0xbb) {
      at += 4;
      continue;
    }
    const end = at + 6 + file.readUInt16BE(at + 4);
    if (id >= FIRST_AUDIO && id <= LAST_AUDIO && (stream ?? id) === id) {
      stream = id;
      yield file.subarray(payloadOf(file, at + 6), Math.min(end, file.length));
    }
    at = end;
  }
}

function payloadOf(file: Buffer, headerAt: number): number {
  const first = file.readUInt8(headerAt);
  // MPEG-2 declares its header length; an MPEG-1 header has stuffing, buffer size and one or two timestamps.
  if (first >> 6 === 2) return headerAt + 3 + file.readUInt8(headerAt + 2);
  let at = headerAt;
  while (file[at] === 0xff) at++;
  if ((file[at] ?? 0) >> 6 === 1) at += 2;
  const times = (file[at] ?? 0) >> 4;
  return at + (times === 2 ? 5 : times === 3 ? 10 : 1);
}

/** Whether a file is an MP4, QuickTime, WebM or Matroska file, by its first bytes. */
export function isMediaContainer(file: Buffer): boolean {
  return BOXES.has(file.toString('latin1', 4, 8)) || file.toString('latin1', 0, 4) === '\x1aE\xdf\xa3';
}

/** Packet sizes of transport streams. */
const TRANSPORT_STEPS = [188, 192, 204];
const TRANSPORT_PROBE_BYTES = 65_536;

/**
 * Whether bare frames contain bytes that make other readers detect a transport or program stream.
 */
function looksLikeStream(frames: Buffer): boolean {
  const probe = frames.subarray(0, TRANSPORT_PROBE_BYTES);
  const isTransport = TRANSPORT_STEPS.some((step) => {
    const counts = new Uint32Array(step);
    for (let at = probe.indexOf(TRANSPORT_SYNC); at !== -1; at = probe.indexOf(TRANSPORT_SYNC, at + 1)) {
      counts[at % step] = (counts[at % step] ?? 0) + 1;
    }
    return Math.max(...counts) > Math.max(4, probe.length / step / 3);
  });
  return isTransport || probe.includes(Buffer.from([0, 0, 1, PROGRAM_PACK]));
}

/**
 * Frames near the beginning of a file may be part of a title of an unsupported container whose audio other readers
 * play.
 * @param behindTags start of the file after its tags.
 * @throws Error when the file begins like such a container.
 */
export function assertBareFrames(file: Buffer, behindTags: number): void {
  for (const at of [0, behindTags]) {
    const head = file.toString('latin1', at, at + 8);
    const isTransport = file[at] === TRANSPORT_SYNC && file[at + TRANSPORT_BYTES] === TRANSPORT_SYNC;
    if (isTransport || BOXES.has(head.slice(4)) || CONTAINERS.some((magic) => head.startsWith(magic))) {
      throw new Error('another container');
    }
  }
}
