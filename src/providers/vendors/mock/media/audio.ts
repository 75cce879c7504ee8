import { crc16, crc8 } from '../../../../core/media/flac-frames';
import { wavHeader } from '../../../../core/media/container-writers';
import { loadMediaLibrary, packetCount, readFixture, readTrack, repeatPackets } from './fixtures';

export type AudioFormat = 'mp3' | 'opus' | 'aac' | 'flac' | 'wav' | 'pcm';

/** A recording that repeats a fixture for the requested time. */
export interface AudioOptions {
  readonly kind: 'speech' | 'music';
  readonly format: AudioFormat;
  readonly seconds: number;
  /** Hertz; speech has `SPEECH_RATE`. */
  readonly sampleRate: number;
  /** Selects where in the fixture the recording begins. */
  readonly seed: number;
  /** Kept as a tag where the format has one, so that the mock can transcribe its own speech; may be empty. */
  readonly transcript: string;
}

export const SPEECH_RATE = 24_000;
/** Precedes the transcript in the tag. */
export const TRANSCRIPT_MARK = 'mock: ';

/** The sample rates of the fixtures; raw samples have any. */
const MUSIC_RATES: ReadonlySet<number> = new Set([16_000, 22_050, 24_000, 32_000, 44_100, 48_000]);
const BYTES_PER_SAMPLE = 2;
const FLAC_TOTAL_SAMPLES_AT = 22;

export function isMusicRate(sampleRate: number): boolean {
  return MUSIC_RATES.has(sampleRate);
}

/**
 * A playable file, in pieces.
 * @param pieceSeconds seconds of audio in each piece, rounded to what the format can separate
 */
export function streamAudio(options: AudioOptions, pieceSeconds: number): AsyncGenerator<Buffer, void, void> {
  const { format } = options;
  return format === 'wav' || format === 'pcm'
    ? streamSamples(options, pieceSeconds)
    : streamCoded(options, format, pieceSeconds);
}

/** The same as a whole. Yields to the event loop every ten seconds of audio. */
export async function makeAudio(options: AudioOptions): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of streamAudio(options, 10)) {
    pieces.push(piece);
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  return Buffer.concat(pieces);
}

async function* streamSamples(options: AudioOptions, pieceSeconds: number): AsyncGenerator<Buffer, void, void> {
  const { kind, format, seconds, sampleRate, seed, transcript } = options;
  const loop = await readFixture(`${kind}.pcm`);
  const totalBytes = BYTES_PER_SAMPLE * Math.ceil(seconds * sampleRate);
  const pieceBytes = BYTES_PER_SAMPLE * Math.ceil(pieceSeconds * sampleRate);
  const start = BYTES_PER_SAMPLE * (seed % (loop.length / BYTES_PER_SAMPLE));
  const coding = { tag: 1, channels: 1, rateHz: sampleRate, sampleBytes: BYTES_PER_SAMPLE };
  let head = format === 'wav' ? wavHeader(coding, totalBytes, titlesOf(transcript)) : Buffer.alloc(0);
  for (let sent = 0; sent < totalBytes; sent += pieceBytes) {
    yield Buffer.concat([head, cut(loop, start + sent, Math.min(pieceBytes, totalBytes - sent))]);
    head = Buffer.alloc(0);
  }
}

/** Bytes of an endless repetition of the buffer. */
function cut(loop: Buffer, from: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length;) at += loop.copy(bytes, at, (from + at) % loop.length);
  return bytes;
}

/** A RIFF chunk with the transcript as comment. Chunks begin at even offsets. */
function titlesOf(transcript: string): Buffer {
  if (transcript === '') return Buffer.alloc(0);
  const comment = Buffer.from(TRANSCRIPT_MARK + transcript);
  const bytes = Buffer.alloc(20 + comment.length + (comment.length % 2));
  bytes.write('LIST', 0, 'latin1');
  bytes.writeUInt32LE(bytes.length - 8, 4);
  bytes.write('INFOICMT', 8, 'latin1');
  bytes.writeUInt32LE(comment.length, 16);
  comment.copy(bytes, 20);
  return bytes;
}

const FILES = { mp3: 'mp3', aac: 'aac', flac: 'flac', opus: 'ogg' } as const;

/** Files that are sent while they are written. */
async function* streamCoded(
  { kind, seconds, sampleRate, seed, transcript }: AudioOptions,
  format: keyof typeof FILES,
  pieceSeconds: number,
): AsyncGenerator<Buffer, void, void> {
  const rate = kind === 'music' ? `-${sampleRate}` : '';
  const track = await readTrack(`${kind}${rate}.${FILES[format]}`);
  const decoderConfig = track.decoderConfig as AudioDecoderConfig;
  const media = await loadMediaLibrary();
  const written: Uint8Array[] = [];
  const take = () => Buffer.concat(written.splice(0));
  const totalSeconds = packetCount(track, seconds) * track.packetSeconds;
  const onBytes = (bytes: Uint8Array, position: number) => {
    if (format === 'flac') writeTotal(bytes, position, Math.round(totalSeconds * sampleRate));
    written.push(bytes);
  };
  const target = new media.StreamTarget(new WritableStream({ write: ({ data, position }) => onBytes(data, position) }));
  const containers = {
    mp3: () => new media.Mp3OutputFormat({ xingHeader: false }),
    aac: () => new media.AdtsOutputFormat(),
    flac: () => new media.FlacOutputFormat({ appendOnly: true }),
    opus: () => new media.OggOutputFormat({ maximumPageDuration: 0.5 }),
  };
  const output = new media.Output({ format: containers[format](), target });
  if (transcript !== '') output.setMetadataTags({ comment: TRANSCRIPT_MARK + transcript });
  const source = new media.EncodedAudioPacketSource(format);
  output.addAudioTrack(source);
  try {
    await output.start();
    let pieceEnd = pieceSeconds;
    let frames = 0;
    for await (const packet of repeatPackets(track, seconds, seed)) {
      const numbered = format === 'flac' ? packet.clone({ data: numberedFrame(packet.data, frames++) }) : packet;
      await source.add(numbered, { decoderConfig });
      if (packet.timestamp + packet.duration < pieceEnd) continue;
      pieceEnd += pieceSeconds;
      yield take();
    }
    await output.finalize();
    yield take();
  } finally {
    if (output.state !== 'finalized') await output.cancel();
  }
}

/**
 * A frame of a FLAC fixture with another number, from which decoders take its time (RFC 9639, section 9.1). Fixtures are
 * so short that their own numbers have one byte.
 */
function numberedFrame(frame: Uint8Array, number: number): Buffer {
  const head = Buffer.concat([frame.subarray(0, 4), Buffer.from(String.fromCodePoint(number))]);
  const body = Buffer.concat([head, Buffer.from([crc8(head)]), frame.subarray(6, -2)]);
  const checksum = crc16(body);
  return Buffer.concat([body, Buffer.from([checksum >> 8, checksum & 0xff])]);
}

/** A FLAC file states its length at the beginning, which its writer does not know yet (RFC 9639, section 8.2). */
function writeTotal(bytes: Uint8Array, position: number, totalSamples: number): void {
  const at = FLAC_TOTAL_SAMPLES_AT - position;
  if (at >= 0 && at + 4 <= bytes.length) new DataView(bytes.buffer, bytes.byteOffset).setUint32(at, totalSamples);
}
