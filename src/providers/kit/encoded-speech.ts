import { setImmediate as nextIteration } from 'node:timers/promises';
import type { StreamSink } from '../contract/chat';
import type { ProviderCall } from '../contract/provider-call';
import type { SpeechFormat, SpeechProgress, SpeechProvider, SpeechRequest, SpeechStream } from '../contract/speech';
import { type SpeechEncoder, withSpeechEncoder } from './speech-encoders';
import { PcmReader, type SampleReader, WavReader } from './speech-samples';

/** Bytes that are converted to samples at once. */
const PIECE_BYTES = 16 * 1024;

const READERS = { pcm: () => new PcmReader(), wav: () => new WavReader() } as const;

/** Encodes the formats that a vendor lacks from its PCM or WAV, as the audio arrives. */
export class EncodedSpeech implements SpeechProvider {
  /**
   * @param formats the formats that `vendor` lacks
   * @param source the format to encode them from: `pcm` has the contract's layout, `wav` may have any usual rate
   */
  constructor(
    private readonly vendor: SpeechProvider,
    private readonly formats: readonly SpeechFormat[],
    private readonly source: keyof typeof READERS = 'pcm',
  ) {}

  async speak(request: SpeechRequest, call: ProviderCall): Promise<SpeechStream> {
    const { format } = request;
    if (!this.formats.includes(format)) return this.vendor.speak(request, call);
    const speech = await this.vendor.speak({ ...request, format: this.source }, call);
    return new EncodedStream(speech, READERS[this.source](), format, call);
  }
}

class EncodedStream implements SpeechStream {
  private writtenBytes = 0;

  constructor(
    private readonly speech: SpeechStream,
    private readonly reader: SampleReader,
    private readonly format: SpeechFormat,
    private readonly call: ProviderCall,
  ) {}

  get progress(): SpeechProgress {
    return { audioBytes: this.writtenBytes, usage: this.speech.progress.usage };
  }

  pipe(sink: StreamSink): Promise<void> {
    return withSpeechEncoder(this.format, this.call, async (encoder) => {
      const samples = new PendingAudio(this.reader, encoder, this.call.signal, (bytes) => this.write(bytes, sink));
      await this.speech.pipe(samples);
      await samples.finish();
    });
  }

  private async write(bytes: Buffer, sink: StreamSink): Promise<void> {
    if (bytes.length === 0) return;
    this.writtenBytes += bytes.length;
    if (!sink.write(bytes)) await sink.drained();
  }
}

/**
 * Audio that waits to be encoded. A vendor may send minutes at once: frames are encoded one by one, so that other work
 * can run between them.
 */
class PendingAudio implements StreamSink {
  private pending: Buffer = Buffer.alloc(0);
  private samples = new Int16Array(0);

  constructor(
    private readonly reader: SampleReader,
    private readonly encoder: SpeechEncoder,
    private readonly signal: AbortSignal,
    private readonly pass: (bytes: Buffer) => Promise<void>,
  ) {}

  /** The caller must wait for {@link drained}. */
  write(piece: string | Buffer): boolean {
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece;
    this.pending = this.pending.length === 0 ? bytes : Buffer.concat([this.pending, bytes]);
    return false;
  }

  /** Encodes the whole frames, unless the receiver has disconnected. */
  async drained(): Promise<void> {
    while (this.pending.length > 0 && !this.signal.aborted) {
      const piece = this.pending.subarray(0, PIECE_BYTES);
      this.pending = this.pending.subarray(PIECE_BYTES);
      await this.encodeFrames(this.reader.read(piece));
    }
  }

  /** Encodes the rest too. */
  async finish(): Promise<void> {
    await this.drained();
    if (this.signal.aborted) return;
    await this.encodeFrames(this.reader.end());
    if (this.samples.length > 0) await this.pass(await this.encoder.encode(this.samples));
    await this.pass(await this.encoder.end());
  }

  private async encodeFrames(arrived: Int16Array): Promise<void> {
    const samples = new Int16Array(this.samples.length + arrived.length);
    samples.set(this.samples);
    samples.set(arrived, this.samples.length);
    const { frameSamples } = this.encoder;
    let at = 0;
    while (samples.length - at >= frameSamples && !this.signal.aborted) {
      await this.pass(await this.encoder.encode(samples.slice(at, at + frameSamples)));
      await nextIteration();
      at += frameSamples;
    }
    this.samples = samples.slice(at);
  }
}
