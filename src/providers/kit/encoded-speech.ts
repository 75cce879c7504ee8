import { setImmediate as nextIteration } from 'node:timers/promises';
import type { StreamSink } from '../contract/chat';
import type { ProviderCall } from '../contract/provider-call';
import type { SpeechFormat, SpeechProgress, SpeechProvider, SpeechRequest, SpeechStream } from '../contract/speech';
import { type EncodedFormat, type SpeechEncoder, withSpeechEncoder } from './speech-encoders';

const SAMPLE_BYTES = 2;

/** Makes formats that a vendor lacks of its PCM, while it arrives. */
export class EncodedSpeech implements SpeechProvider {
  /** @param formats that `vendor` lacks */
  constructor(
    private readonly vendor: SpeechProvider,
    private readonly formats: readonly EncodedFormat[],
  ) {}

  async speak(request: SpeechRequest, call: ProviderCall): Promise<SpeechStream> {
    const { format } = request;
    if (!this.lacks(format)) return this.vendor.speak(request, call);
    return new EncodedStream(await this.vendor.speak({ ...request, format: 'pcm' }, call), format, call.signal);
  }

  private lacks(format: SpeechFormat): format is EncodedFormat {
    return (this.formats as readonly SpeechFormat[]).includes(format);
  }
}

class EncodedStream implements SpeechStream {
  private writtenBytes = 0;

  constructor(
    private readonly speech: SpeechStream,
    private readonly format: EncodedFormat,
    private readonly signal: AbortSignal,
  ) {}

  get progress(): SpeechProgress {
    return { audioBytes: this.writtenBytes, usage: this.speech.progress.usage };
  }

  pipe(sink: StreamSink): Promise<void> {
    return withSpeechEncoder(this.format, async (encoder) => {
      const samples = new PendingSamples(encoder, this.signal, (bytes) => this.write(bytes, sink));
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
 * PCM that waits to be encoded. A vendor may send minutes at once: frames are encoded one by one, and other work goes on
 * between them.
 */
class PendingSamples implements StreamSink {
  private pending: Buffer = Buffer.alloc(0);

  constructor(
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
    const frameBytes = this.encoder.frameSamples * SAMPLE_BYTES;
    while (this.pending.length >= frameBytes && !this.signal.aborted) {
      const frame = this.pending.subarray(0, frameBytes);
      this.pending = this.pending.subarray(frameBytes);
      await this.pass(await this.encoder.encode(toSamples(frame)));
      await nextIteration();
    }
  }

  /** Encodes the rest too. */
  async finish(): Promise<void> {
    await this.drained();
    if (this.signal.aborted) return;
    const rest = toSamples(this.pending);
    if (rest.length > 0) await this.pass(await this.encoder.encode(rest));
    await this.pass(await this.encoder.end());
  }
}

/** Half a sample at the end is left out. */
function toSamples(bytes: Buffer): Int16Array {
  const samples = new Int16Array(Math.floor(bytes.length / SAMPLE_BYTES));
  for (let index = 0; index < samples.length; index++) samples[index] = bytes.readInt16LE(index * SAMPLE_BYTES);
  return samples;
}
