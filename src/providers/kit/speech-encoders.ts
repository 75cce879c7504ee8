/**
 * Encodes speech in formats that a vendor lacks: libopus, libFLAC, LAME and the AAC encoder of FFmpeg, compiled to
 * WebAssembly or asm.js.
 */
import type { AudioSampleSource, Output } from 'mediabunny';
import { FairSlots } from '../../core/concurrency/fair-slots';
import { OggWriter } from '../../core/media/container-writers';
import { OPUS_RATE_HZ, opusHeaders } from '../../core/media/packet-remuxers';
import type { ProviderCall } from '../contract/provider-call';
import type { SpeechFormat } from '../contract/speech';
import { SPEECH_RATE_HZ } from './speech-samples';
import { cancellation } from './upstream-errors';
import { wavHeader } from './wav-header';

/** MP3 and AAC streams that a process encodes at once: each has a thread, which takes 13 MB. Other streams wait. */
export const MAX_ENCODER_THREADS = 16;

export interface SpeechEncoder {
  /** Samples per call of {@link encode}; the last call may have fewer. */
  readonly frameSamples: number;
  /** Returns the bytes that are complete, possibly none. */
  encode(frame: Int16Array): Buffer | Promise<Buffer>;
  /** Returns the remaining bytes. */
  end(): Buffer | Promise<Buffer>;
  close(): void | Promise<void>;
}

/**
 * Shared fairly between organizations. A stream keeps its thread for as long as its client reads, because an encoder
 * cannot be moved or suspended, and output that does not wait for the client would have no limit. One organization's
 * slow clients leave half of the threads to the others.
 */
const threads = new FairSlots(MAX_ENCODER_THREADS);

/**
 * Runs `encode` with its own encoder, as soon as one is available.
 * @throws ProviderError when the receiver disconnects first; and whatever `encode` throws
 */
export async function withSpeechEncoder(
  format: SpeechFormat,
  { ownerId = '', signal }: Pick<ProviderCall, 'ownerId' | 'signal'>,
  encode: (encoder: SpeechEncoder) => Promise<void>,
): Promise<void> {
  if (format !== 'mp3' && format !== 'aac') return runWithEncoder(format, encode);
  try {
    await threads.enter(ownerId, signal);
  } catch (reason) {
    throw cancellation('stream', reason);
  }
  try {
    await runWithEncoder(format, encode);
  } finally {
    threads.leave(ownerId);
  }
}

async function runWithEncoder(format: SpeechFormat, encode: (encoder: SpeechEncoder) => Promise<void>): Promise<void> {
  const encoder = await createSpeechEncoder(format);
  try {
    await encode(encoder);
  } finally {
    await encoder.close();
  }
}

async function createSpeechEncoder(format: SpeechFormat): Promise<SpeechEncoder> {
  switch (format) {
    case 'opus':
      return OpusEncoder.create();
    case 'flac':
      return FlacEncoder.create();
    case 'mp3':
    case 'aac':
      return ThreadEncoder.create(format);
    case 'wav':
      return new RawEncoder(wavHeader(SPEECH_RATE_HZ));
    case 'pcm':
      return new RawEncoder(Buffer.alloc(0));
  }
}

/** Collects what an encoder writes. */
class Pieces {
  private pieces: Buffer[] = [];

  push(bytes: Uint8Array): void {
    this.pieces.push(Buffer.from(bytes));
  }

  take(): Buffer {
    const taken = Buffer.concat(this.pieces);
    this.pieces = [];
    return taken;
  }
}

/** Opus in Ogg, in frames of 20 ms and pages of at most 200 ms. */
class OpusEncoder implements SpeechEncoder {
  private static readonly BITS_PER_SECOND = 64_000;
  /** Complexity, up to 10: 5 costs half the time of the default, without an audible difference for speech. */
  private static readonly COMPLEXITY = 5;
  private static readonly SET_COMPLEXITY = 4_010;

  readonly frameSamples = SPEECH_RATE_HZ / 50;
  private readonly pieces = new Pieces();
  private readonly writer = new OggWriter(this.pieces, OPUS_RATE_HZ / 5);

  private constructor(private readonly encoder: import('opusscript')) {
    for (const header of opusHeaders(1)) this.writer.addHeader(header);
  }

  static async create(): Promise<SpeechEncoder> {
    const { default: OpusScript } = await import('opusscript');
    const encoder = new OpusScript(SPEECH_RATE_HZ, 1, OpusScript.Application.AUDIO);
    encoder.setBitrate(OpusEncoder.BITS_PER_SECOND);
    encoder.encoderCTL(OpusEncoder.SET_COMPLEXITY, OpusEncoder.COMPLEXITY);
    return new OpusEncoder(encoder);
  }

  encode(frame: Int16Array): Buffer {
    const padded = new Int16Array(this.frameSamples);
    padded.set(frame);
    const packet = this.encoder.encode(Buffer.from(padded.buffer), this.frameSamples);
    this.writer.add(Buffer.from(packet), (frame.length * OPUS_RATE_HZ) / SPEECH_RATE_HZ);
    return this.pieces.take();
  }

  end(): Buffer {
    this.writer.finish();
    return this.pieces.take();
  }

  close(): void {
    this.encoder.delete();
  }
}

/** FLAC whose header states no length, which is unknown while streaming. */
class FlacEncoder implements SpeechEncoder {
  private static readonly COMPRESSION = 5;

  readonly frameSamples = SPEECH_RATE_HZ / 10;

  private constructor(
    private readonly flac: typeof import('libflacjs/dist/libflac'),
    private readonly encoder: number,
    private readonly pieces: Pieces,
  ) {}

  static async create(): Promise<SpeechEncoder> {
    const { default: flac } = await import('libflacjs/dist/libflac.js');
    if (!flac.isReady()) await new Promise<void>((resolve) => flac.on('ready', () => resolve()));
    const encoder = flac.create_libflac_encoder(SPEECH_RATE_HZ, 1, 16, FlacEncoder.COMPRESSION, 0, false, 0);
    const pieces = new Pieces();
    if (encoder === 0 || flac.init_encoder_stream(encoder, (bytes: Uint8Array) => pieces.push(bytes)) !== 0) {
      throw new Error('the FLAC encoder does not start');
    }
    return new FlacEncoder(flac, encoder, pieces);
  }

  encode(frame: Int16Array): Buffer {
    const isEncoded = this.flac.FLAC__stream_encoder_process_interleaved(
      this.encoder,
      Int32Array.from(frame),
      frame.length,
    );
    if (!isEncoded) throw new Error('the FLAC encoder failed');
    return this.pieces.take();
  }

  end(): Buffer {
    this.flac.FLAC__stream_encoder_finish(this.encoder);
    return this.pieces.take();
  }

  close(): void {
    this.flac.FLAC__stream_encoder_delete(this.encoder);
  }
}

/** Unencoded samples, after a header for WAV. */
class RawEncoder implements SpeechEncoder {
  readonly frameSamples = SPEECH_RATE_HZ / 10;

  constructor(private prefix: Buffer) {}

  encode(frame: Int16Array): Buffer {
    const bytes = Buffer.concat([this.prefix, Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength)]);
    this.prefix = Buffer.alloc(0);
    return bytes;
  }

  end(): Buffer {
    return this.prefix;
  }

  close(): void {}
}

/**
 * MP3 or AAC in frames without a container, so that the audio can be played while it arrives. Each encoder has its own
 * thread.
 */
class ThreadEncoder implements SpeechEncoder {
  private static readonly BITS_PER_SECOND = 64_000;

  readonly frameSamples = SPEECH_RATE_HZ / 10;
  private samples = 0;

  private constructor(
    private readonly library: typeof import('mediabunny'),
    private readonly output: Output,
    private readonly source: AudioSampleSource,
    private readonly pieces: Pieces,
  ) {}

  static async create(codec: 'mp3' | 'aac'): Promise<SpeechEncoder> {
    const library = await loadLibrary();
    const { AdtsOutputFormat, AudioSampleSource, Mp3OutputFormat, Output, StreamTarget } = library;
    const pieces = new Pieces();
    const target = new StreamTarget(new WritableStream({ write: ({ data }) => pieces.push(data) }));
    // A Xing header is written last, at the beginning of the file, which a stream cannot do.
    const format = codec === 'mp3' ? new Mp3OutputFormat({ xingHeader: false }) : new AdtsOutputFormat();
    const output = new Output({ format, target });
    const source = new AudioSampleSource({ codec, bitrate: ThreadEncoder.BITS_PER_SECOND });
    output.addAudioTrack(source);
    await output.start();
    return new ThreadEncoder(library, output, source, pieces);
  }

  async encode(frame: Int16Array): Promise<Buffer> {
    const timestamp = this.samples / SPEECH_RATE_HZ;
    const sampleRate = SPEECH_RATE_HZ;
    const format = 's16';
    const sample = new this.library.AudioSample({ data: frame, format, numberOfChannels: 1, sampleRate, timestamp });
    this.samples += frame.length;
    await this.source.add(sample);
    sample.close();
    return this.pieces.take();
  }

  async end(): Promise<Buffer> {
    await this.output.finalize();
    return this.pieces.take();
  }

  async close(): Promise<void> {
    if (this.output.state !== 'finalized') await this.output.cancel();
  }
}

let library: Promise<typeof import('mediabunny')> | undefined;

/** Loaded with the first stream, since it is megabytes of code. */
function loadLibrary(): Promise<typeof import('mediabunny')> {
  library ??= (async () => {
    const [mediabunny, { registerMp3Encoder }, { registerAacEncoder }] = await Promise.all([
      import('mediabunny'),
      import('@mediabunny/mp3-encoder'),
      import('@mediabunny/aac-encoder'),
    ]);
    registerMp3Encoder();
    registerAacEncoder();
    return mediabunny;
  })();
  return library;
}
