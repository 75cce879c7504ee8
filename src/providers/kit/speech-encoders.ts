/** Encodes speech for vendors that lack a format: libopus and libFLAC, compiled to WebAssembly and asm.js. */
import { OggWriter } from '../../core/media/container-writers';
import { OPUS_RATE_HZ, opusHeaders } from '../../core/media/packet-remuxers';

/** Of the samples: the contract's PCM, mono and signed 16-bit little-endian. */
const SAMPLE_RATE = 24_000;

/** Formats that can be made of PCM. MP3 and AAC have no encoder with a permissive license. */
export type EncodedFormat = 'opus' | 'flac';

/** The caller must call `close`. */
export interface SpeechEncoder {
  /** Samples per call of {@link encode}, and at most as many in the last one. */
  readonly frameSamples: number;
  /** The bytes that are complete, possibly none. */
  encode(frame: Int16Array): Buffer;
  /** The remaining bytes. */
  end(): Buffer;
  close(): void;
}

export function createSpeechEncoder(format: EncodedFormat): Promise<SpeechEncoder> {
  return format === 'opus' ? OpusEncoder.create() : FlacEncoder.create();
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
  /** Of 10: costs half the time of the default and makes no audible difference for speech. */
  private static readonly COMPLEXITY = 5;
  private static readonly SET_COMPLEXITY = 4_010;

  readonly frameSamples = SAMPLE_RATE / 50;
  private readonly pieces = new Pieces();
  private readonly writer = new OggWriter(this.pieces, OPUS_RATE_HZ / 5);

  private constructor(private readonly encoder: import('opusscript')) {
    for (const header of opusHeaders(1)) this.writer.addHeader(header);
  }

  static async create(): Promise<SpeechEncoder> {
    const { default: OpusScript } = await import('opusscript');
    const encoder = new OpusScript(SAMPLE_RATE, 1, OpusScript.Application.AUDIO);
    encoder.setBitrate(OpusEncoder.BITS_PER_SECOND);
    encoder.encoderCTL(OpusEncoder.SET_COMPLEXITY, OpusEncoder.COMPLEXITY);
    return new OpusEncoder(encoder);
  }

  encode(frame: Int16Array): Buffer {
    const padded = new Int16Array(this.frameSamples);
    padded.set(frame);
    const packet = this.encoder.encode(Buffer.from(padded.buffer), this.frameSamples);
    this.writer.add(Buffer.from(packet), (frame.length * OPUS_RATE_HZ) / SAMPLE_RATE);
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

/** FLAC whose header names no length, as a stream has none yet. */
class FlacEncoder implements SpeechEncoder {
  private static readonly COMPRESSION = 5;

  readonly frameSamples = SAMPLE_RATE / 10;

  private constructor(
    private readonly flac: typeof import('libflacjs/dist/libflac'),
    private readonly encoder: number,
    private readonly pieces: Pieces,
  ) {}

  static async create(): Promise<SpeechEncoder> {
    const { default: flac } = await import('libflacjs/dist/libflac.js');
    if (!flac.isReady()) await new Promise<void>((resolve) => flac.on('ready', () => resolve()));
    const encoder = flac.create_libflac_encoder(SAMPLE_RATE, 1, 16, FlacEncoder.COMPRESSION, 0, false, 0);
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
