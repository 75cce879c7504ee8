/** Recorders for codings without a packet container: PCM, MPEG audio and FLAC. */
import { looksLikeStream } from './bare-frames';
import { flacFrames } from './flac-frames';
import { mpegFrames } from './coded-frames';
import type { PacketRemuxer } from './packet-remuxers';
import type { ProbedAudio } from './probe-threads';
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
