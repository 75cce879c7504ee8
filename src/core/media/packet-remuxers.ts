/** Counts the packets of a coding and writes them to its output container. */
import { AAC_FRAME_SAMPLES, AAC_RATES_HZ, type AacConfig, endOfAacFrame, toAacConfigBytes } from './aac-frames';
import type { ProbedAudio } from './media-probes';
import { alacSamples, opusSamples } from './coded-frames';
import {
  aacConfigurationBox,
  alacConfigurationBox,
  type ByteSink,
  Mp4Writer,
  oggSink,
  OggWriter,
} from './container-writers';
import { vorbisBlockSamples, type VorbisHeaders } from './vorbis-headers';

export interface PacketRemuxer {
  /** Adds the next packet; invalid packets are skipped. */
  add(packet: Uint8Array): void;
  /** @throws Error when too much was skipped. */
  finish(): ProbedAudio;
}

const MP4 = { contentType: 'audio/mp4', extension: 'm4a' };
const OGG = { contentType: 'audio/ogg', extension: 'ogg' };
/** Opus counts samples at this rate, whatever its input has. */
export const OPUS_RATE_HZ = 48_000;
/** Maximum percentage of damaged packets: a recording with larger gaps is not what the client intended. */
const MAX_DAMAGED_PERCENT = 5;
/** The last packet of a recording is often cut off. */
const MAX_CUT_PACKETS = 1;
/** This many damaged packets end a file early: tables can declare billions. */
const MAX_DAMAGED_IN_A_ROW = 1_000;

/** Numbers of accepted and skipped packets. */
class PacketCounter {
  accepted = 0;
  private damaged = 0;

  /** @throws Error when too many packets were skipped to stay below the limit. */
  skip(): void {
    this.damaged++;
    if (this.damaged > MAX_DAMAGED_IN_A_ROW + this.accepted) throw new Error('damaged');
  }

  assertComplete(): void {
    const allowed = MAX_CUT_PACKETS + (this.accepted * MAX_DAMAGED_PERCENT) / 100;
    if (this.accepted === 0 || this.damaged > allowed) throw new Error('damaged');
  }
}

/** AAC-LC in MP4, one frame in each packet. */
export class AacRemuxer implements PacketRemuxer {
  private readonly counter = new PacketCounter();
  private readonly writer: Mp4Writer;
  private readonly config: AacConfig;

  constructor(config: AacConfig, expectedBytes: number) {
    this.config = config;
    this.writer = new Mp4Writer(expectedBytes);
  }

  add(packet: Uint8Array): void {
    let frames = 0;
    // Decoders treat trailing zeros as padding, and other bytes after a frame as the next frame.
    for (let at = 0; packet.subarray(at).some((byte) => byte !== 0);) {
      const end = endOfAacFrame(packet, at, packet.length, this.config.rateIndex);
      if (end === null) break;
      this.writer.add(packet.subarray(at, end), AAC_FRAME_SAMPLES);
      frames++;
      at = end;
    }
    this.counter.accepted += frames;
    if (frames === 0) this.counter.skip();
  }

  finish(): ProbedAudio {
    this.counter.assertComplete();
    const { rateIndex, channels } = this.config;
    const rateHz = AAC_RATES_HZ[rateIndex] ?? 0;
    const configuration = aacConfigurationBox(toAacConfigBytes(this.config));
    const bytes = this.writer.finish({ rateHz, channels, sampleBits: 16, format: 'mp4a', configuration });
    return { durationSeconds: (this.counter.accepted * AAC_FRAME_SAMPLES) / rateHz, ...MP4, bytes };
  }
}

const ALAC_COOKIE_BYTES = 24;
/** Samples per frame of all encoders. */
const MAX_ALAC_FRAME_SAMPLES = 4_096;

/** ALAC in MP4. The cookie alone configures the decoder. */
export class AlacRemuxer implements PacketRemuxer {
  private readonly counter = new PacketCounter();
  private readonly writer: Mp4Writer;
  private readonly cookie: Buffer;
  private readonly frameSamples: number;
  private readonly rateHz: number;
  private samples = 0;

  /** @throws Error for an invalid cookie. */
  constructor(cookie: Buffer, expectedBytes: number) {
    if (cookie.length < ALAC_COOKIE_BYTES) throw new Error('a cookie that is cut off');
    this.cookie = Buffer.from(cookie.subarray(0, ALAC_COOKIE_BYTES));
    // Frame size and bit rate are hints.
    this.cookie.fill(0, 12, 20);
    this.frameSamples = this.cookie.readUInt32BE(0);
    this.rateHz = this.cookie.readUInt32BE(20);
    const [bits, channels] = [this.cookie.readUInt8(5), this.cookie.readUInt8(9)];
    const isKnown = this.frameSamples > 0 && this.frameSamples <= MAX_ALAC_FRAME_SAMPLES && this.rateHz > 0;
    if (!isKnown || channels < 1 || channels > 2 || ![16, 20, 24, 32].includes(bits)) throw new Error('unknown ALAC');
    this.writer = new Mp4Writer(expectedBytes);
  }

  add(packet: Uint8Array): void {
    const samples = alacSamples(Buffer.from(packet.buffer, packet.byteOffset, packet.length), this.frameSamples);
    if (samples === null) return this.counter.skip();
    this.writer.add(packet, samples);
    this.samples += samples;
    this.counter.accepted++;
  }

  finish(): ProbedAudio {
    this.counter.assertComplete();
    const [sampleBits, channels] = [this.cookie.readUInt8(5), this.cookie.readUInt8(9)];
    const configuration = alacConfigurationBox(this.cookie);
    const bytes = this.writer.finish({ rateHz: this.rateHz, channels, sampleBits, format: 'alac', configuration });
    return { durationSeconds: this.samples / this.rateHz, ...MP4, bytes };
  }
}

/** Decoder pre-skip in samples at 48,000 Hz: the delay of libopus. */
const OPUS_PRE_SKIP = 312;

/** The header packets of Opus in Ogg (RFC 7845). */
export function opusHeaders(channels: number): readonly Buffer[] {
  const identification = Buffer.alloc(19);
  identification.write('OpusHead\x01', 0, 'latin1');
  identification.writeUInt8(channels, 9);
  identification.writeUInt16LE(OPUS_PRE_SKIP, 10);
  identification.writeUInt32LE(OPUS_RATE_HZ, 12);
  return [identification, Buffer.from('OpusTags\0\0\0\0\0\0\0\0', 'latin1')];
}

/** Opus in Ogg (RFC 7845), of one or two channels. */
export class OpusRemuxer implements PacketRemuxer {
  private readonly counter = new PacketCounter();
  private readonly sink: ByteSink;
  private readonly writer: OggWriter;
  private samples = 0;

  /** @param head the stream's header, for the channel count. @throws Error for more than two channels. */
  constructor(head: Uint8Array | null, expectedBytes: number) {
    const channels = head === null ? 2 : opusChannels(head);
    this.sink = oggSink(expectedBytes);
    this.writer = new OggWriter(this.sink, OPUS_RATE_HZ);
    for (const header of opusHeaders(channels)) this.writer.addHeader(header);
  }

  add(packet: Uint8Array): void {
    const samples = opusSamples(packet);
    if (samples === null) return this.counter.skip();
    this.writer.add(packet, samples);
    this.samples += samples;
    this.counter.accepted++;
  }

  finish(): ProbedAudio {
    this.counter.assertComplete();
    this.writer.finish();
    return { durationSeconds: this.samples / OPUS_RATE_HZ, ...OGG, bytes: this.sink.view() };
  }
}

function opusChannels(head: Uint8Array): number {
  const [channels = 0, family = 0, streams = 1] = [head[9], head[18], head[19]];
  const isPlain = family === 0 || (family === 1 && streams === 1);
  if (head.length < 19 || !isPlain || channels < 1 || channels > 2) throw new Error('Opus of more than two channels');
  return channels;
}

/** Vorbis in Ogg. */
export class VorbisRemuxer implements PacketRemuxer {
  private readonly counter = new PacketCounter();
  private readonly sink: ByteSink;
  private readonly writer: OggWriter;
  private readonly headers: VorbisHeaders;
  private samples = 0;
  private previousBlock = 0;

  constructor(headers: VorbisHeaders, expectedBytes: number) {
    this.headers = headers;
    this.sink = oggSink(expectedBytes);
    this.writer = new OggWriter(this.sink, headers.rateHz);
    for (const header of [headers.identification, headers.comment, headers.setup]) this.writer.addHeader(header);
  }

  add(packet: Uint8Array): void {
    const block = vorbisBlockSamples(packet, this.headers);
    if (block === null) return this.counter.skip();
    // A block overlaps half of the previous one.
    const samples = this.previousBlock === 0 ? 0 : (this.previousBlock + block) / 4;
    this.previousBlock = block;
    this.writer.add(packet, samples);
    this.samples += samples;
    this.counter.accepted++;
  }

  finish(): ProbedAudio {
    this.counter.assertComplete();
    this.writer.finish();
    return { durationSeconds: this.samples / this.headers.rateHz, ...OGG, bytes: this.sink.view() };
  }
}
