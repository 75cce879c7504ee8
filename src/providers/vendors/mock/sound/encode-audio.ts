import type { AudioSampleSource, EncodedAudioPacketSource, Output } from 'mediabunny';
import { loadMediaLibrary } from './media-library';

export type AudioFormat = 'mp3' | 'opus' | 'aac' | 'flac' | 'wav' | 'pcm';

/** Audio that is generated while it is encoded: 16 bits, one channel. */
export interface Recording {
  /** Hertz. */
  readonly sampleRate: number;
  readonly totalFrames: number;
  /** The words in it, kept as a tag where the format has one, so that the mock can transcribe its own speech. */
  readonly transcript: string;
  /** The next frames, at most `count`; fewer only at the end. */
  read(count: number): Int16Array<ArrayBuffer>;
}

/** Artist tag that identifies the mock's own files. */
export const MOCK_ARTIST = 'mock';

const BYTES_PER_FRAME = 2;
const BITRATES = { mp3: 64_000, aac: 64_000 } as const;
/** Sample rate for Opus, in hertz. */
const OPUS_RATE = 24_000;
const OPUS_PACKETS_PER_SECOND = 50;
const OPUS_GET_LOOKAHEAD = 4027;
/** Opus counts at this rate, regardless of the input rate. */
const OPUS_CLOCK_RATE = 48_000;
const FLAC_TOTAL_FRAMES_AT = 22;

/**
 * A recording as a file, in parts: the bytes available after each slice, possibly none while the encoder is buffering.
 * Ending early frees the encoder.
 * @param sliceFrames Frames that are made and encoded in one go.
 */
export async function* encodeAudio(
  recording: Recording,
  format: AudioFormat,
  sliceFrames: number,
): AsyncGenerator<Buffer, void, void> {
  if (format !== 'wav' && format !== 'pcm') {
    yield* encodeCompressed(recording, format, sliceFrames);
    return;
  }
  let head = format === 'wav' ? wavHeader(recording) : Buffer.alloc(0);
  for (const frames of slicesOf(recording, sliceFrames)) {
    yield Buffer.concat([head, new Uint8Array(frames.buffer)]);
    head = Buffer.alloc(0);
  }
}

/** A whole file. Yields to the event loop between slices. */
export async function encodeWhole(recording: Recording, format: AudioFormat): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of encodeAudio(recording, format, recording.sampleRate)) {
    parts.push(part);
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  return Buffer.concat(parts);
}

async function* encodeCompressed(
  recording: Recording,
  format: 'mp3' | 'opus' | 'aac' | 'flac',
  sliceFrames: number,
): AsyncGenerator<Buffer, void, void> {
  const written: Uint8Array[] = [];
  const take = () => Buffer.concat(written.splice(0));
  const { output, add, end, free } = await openFile(recording, format, (bytes, position) => {
    if (format === 'flac') writeTotal(bytes, position, recording.totalFrames);
    written.push(bytes);
  });
  try {
    await output.start();
    let frame = 0;
    for (const frames of slicesOf(recording, sliceFrames)) {
      await add(frames, frame);
      frame += frames.length;
      yield take();
    }
    await end?.();
    await output.finalize();
    yield take();
  } finally {
    free?.();
    if (output.state !== 'finalized') await output.cancel();
  }
}

interface OpenFile {
  readonly output: Output;
  add(frames: Int16Array<ArrayBuffer>, firstFrame: number): Promise<void>;
  /** Flushes buffered frames. */
  end?(): Promise<void>;
  free?(): void;
}

/** Append-only files, which can be sent while they are written. */
async function openFile(
  { sampleRate, transcript }: Recording,
  format: 'mp3' | 'opus' | 'aac' | 'flac',
  onBytes: (bytes: Uint8Array, position: number) => void,
): Promise<OpenFile> {
  const media = await loadMediaLibrary();
  const formats = {
    mp3: () => new media.Mp3OutputFormat({ xingHeader: false }),
    aac: () => new media.AdtsOutputFormat(),
    flac: () => new media.FlacOutputFormat({ appendOnly: true }),
    opus: () => new media.OggOutputFormat({ maximumPageDuration: 0.5 }),
  };
  const target = new media.StreamTarget(new WritableStream({ write: ({ data, position }) => onBytes(data, position) }));
  const output = new media.Output({ format: formats[format](), target });
  if (transcript !== '') output.setMetadataTags({ artist: MOCK_ARTIST, comment: transcript });
  if (format === 'opus') {
    const source = new media.EncodedAudioPacketSource('opus');
    output.addAudioTrack(source);
    return { output, ...(await openOpus(source, sampleRate)) };
  }
  const source = new media.AudioSampleSource(
    format === 'flac' ? { codec: 'flac' } : { codec: format, bitrate: BITRATES[format] },
  );
  output.addAudioTrack(source);
  return { output, add: (frames, firstFrame) => addSample(source, frames, firstFrame, sampleRate) };

  async function addSample(
    into: AudioSampleSource,
    data: Int16Array<ArrayBuffer>,
    firstFrame: number,
    rate: number,
  ): Promise<void> {
    const timestamp = firstFrame / rate;
    const sample = new media.AudioSample({ data, format: 's16', numberOfChannels: 1, sampleRate: rate, timestamp });
    await into.add(sample);
    sample.close();
  }
}

/** Cuts sound into packets of 20 ms; the last one is padded with silence. */
async function openOpus(source: EncodedAudioPacketSource, sampleRate: number): Promise<Omit<OpenFile, 'output'>> {
  const [{ Encoder }, { EncodedPacket }] = await Promise.all([import('@evan/opus/wasm/index.mjs'), loadMediaLibrary()]);
  const encoder = new Encoder({ channels: 1, sample_rate: OPUS_RATE, application: 'voip' });
  const packetFrames = OPUS_RATE / OPUS_PACKETS_PER_SECOND;
  const duration = 1 / OPUS_PACKETS_PER_SECOND;
  const decoderConfig = {
    codec: 'opus',
    numberOfChannels: 1,
    sampleRate: OPUS_CLOCK_RATE,
    description: opusHeader(encoder.ctl(OPUS_GET_LOOKAHEAD), sampleRate),
  };
  let left = new Int16Array(0);
  let packets = 0;
  const add = async (frames: Int16Array) => {
    const pending = new Int16Array(left.length + frames.length);
    pending.set(left);
    pending.set(frames, left.length);
    let at = 0;
    for (; at + packetFrames <= pending.length; at += packetFrames) {
      const data = encoder.encode(pending.subarray(at, at + packetFrames));
      await source.add(new EncodedPacket(data, 'key', packets++ * duration, duration), { decoderConfig });
    }
    left = pending.slice(at);
  };
  const end = async () => {
    if (left.length > 0) await add(new Int16Array(packetFrames - left.length));
  };
  return { add, end, free: () => encoder.drop() };
}

/** RFC 7845, section 5.1. */
function opusHeader(lookaheadFrames: number, sampleRate: number): Buffer {
  const header = Buffer.alloc(19);
  header.write('OpusHead', 'latin1');
  header.set([1, 1], 8);
  header.writeUInt16LE(Math.round((lookaheadFrames * OPUS_CLOCK_RATE) / sampleRate), 10);
  header.writeUInt32LE(sampleRate, 12);
  return header;
}

/** A FLAC file states its length at the beginning, which its writer does not know yet (RFC 9639, section 8.2). */
function writeTotal(bytes: Uint8Array, position: number, totalFrames: number): void {
  const at = FLAC_TOTAL_FRAMES_AT - position;
  if (at >= 0 && at + 4 <= bytes.length) new DataView(bytes.buffer, bytes.byteOffset).setUint32(at, totalFrames);
}

function wavHeader({ sampleRate, totalFrames, transcript }: Recording): Buffer {
  const dataBytes = totalFrames * BYTES_PER_FRAME;
  const format = Buffer.alloc(16);
  format.writeUInt16LE(1, 0);
  format.writeUInt16LE(1, 2);
  format.writeUInt32LE(sampleRate, 4);
  format.writeUInt32LE(sampleRate * BYTES_PER_FRAME, 8);
  format.writeUInt16LE(BYTES_PER_FRAME, 12);
  format.writeUInt16LE(8 * BYTES_PER_FRAME, 14);
  const tags = [riffChunk('IART', Buffer.from(MOCK_ARTIST)), riffChunk('ICMT', Buffer.from(transcript))];
  const info = transcript === '' ? [] : [riffChunk('LIST', Buffer.from('INFO'), ...tags)];
  const chunks = Buffer.concat([riffChunk('fmt ', format), ...info]);
  const head = Buffer.from('RIFF\0\0\0\0WAVE', 'latin1');
  const data = Buffer.from('data\0\0\0\0', 'latin1');
  head.writeUInt32LE(4 + chunks.length + data.length + dataBytes, 4);
  data.writeUInt32LE(dataBytes, 4);
  return Buffer.concat([head, chunks, data]);
}

/** Chunks begin at even offsets. */
function riffChunk(id: string, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const head = Buffer.from(`${id}\0\0\0\0`, 'latin1');
  head.writeUInt32LE(content.length, 4);
  return Buffer.concat([head, content, Buffer.alloc(content.length % 2)]);
}

function* slicesOf(recording: Recording, sliceFrames: number): Generator<Int16Array<ArrayBuffer>> {
  for (let frames = recording.read(sliceFrames); frames.length > 0; frames = recording.read(sliceFrames)) yield frames;
}
