import type { Readable } from 'node:stream';
import type { StreamSink } from '../contract/chat';
import type { ProviderCall } from '../contract/provider-call';
import { ProviderError } from '../contract/provider-error';
import type { SpeechFormat, SpeechProgress, SpeechProvider, SpeechRequest, SpeechStream } from '../contract/speech';
import { contradictsFormat } from './audio-stream';
import { EncodedSpeech } from './encoded-speech';
import { makeInCall, type MappedQueue } from './mapped-queue';
import { requireMapping, toSpeechInput, urlsAt } from './request-mapping';
import { cancellation } from './upstream-errors';

/** Speech of vendors with one queue for many models: made once, then streamed from the file at the vendor's host. */
export class MappedSpeech implements SpeechProvider {
  constructor(private readonly queue: MappedQueue) {}

  speak(request: SpeechRequest, call: ProviderCall): Promise<SpeechStream> {
    const source = call.mapping?.output.audio_format;
    if (source === undefined || source === request.format) return this.record(request, call);
    const recorded = { speak: (...asked: Parameters<SpeechProvider['speak']>) => this.record(...asked) };
    return new EncodedSpeech(recorded, [request.format], source).speak(request, call);
  }

  private async record(request: SpeechRequest, call: ProviderCall): Promise<SpeechStream> {
    const mapping = requireMapping(call);
    const { document } = await makeInCall(this.queue, toSpeechInput(request, mapping), call);
    const [url] = urlsAt(document, mapping.output.audio);
    if (url === undefined) throw unusable('no audio');
    return RecordedSpeech.open(url, request.format, call);
  }
}

/** A recording at a public address, passed on as it arrives. */
class RecordedSpeech implements SpeechStream {
  private writtenBytes = 0;

  private constructor(
    private readonly first: Buffer,
    private readonly rest: AsyncIterator<Buffer>,
    private readonly file: Readable,
    private readonly signal: AbortSignal,
  ) {}

  /** Resolves with the first bytes. @throws ProviderError */
  static async open(url: string, format: SpeechFormat, { openFile, signal }: ProviderCall): Promise<SpeechStream> {
    if (openFile === undefined) throw unusable('a file that cannot be fetched');
    let file: Readable | null = null;
    try {
      file = await openFile(url);
      const rest = file[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
      const { value: first, done } = await rest.next();
      if (done === true) throw unusable('no audio');
      if (contradictsFormat(format, first)) throw unusable('audio in a format other than the one requested');
      return new RecordedSpeech(first, rest, file, signal);
    } catch (error) {
      file?.destroy();
      if (error instanceof ProviderError) throw error;
      if (signal.aborted) throw cancellation('first_token', signal.reason);
      throw unusable('a file that cannot be fetched', error);
    }
  }

  get progress(): SpeechProgress {
    return { audioBytes: this.writtenBytes, usage: null };
  }

  async pipe(sink: StreamSink): Promise<void> {
    try {
      for (let piece: Buffer | null = this.first; piece !== null; piece = await this.next()) {
        this.writtenBytes += piece.length;
        if (!sink.write(piece)) await sink.drained();
      }
    } finally {
      this.file.destroy();
    }
  }

  private async next(): Promise<Buffer | null> {
    try {
      const { value, done } = await this.rest.next();
      return done === true ? null : value;
    } catch (error) {
      if (this.signal.aborted) throw cancellation('stream', this.signal.reason);
      const message = 'The provider ended the stream before the speech was complete.';
      throw new ProviderError('provider_disconnect', message, { phase: 'stream', fallback: false, cause: error });
    }
  }
}

/** The vendor may bill the speech, but the client got none of it, so another deployment may be called. */
function unusable(what: string, cause?: unknown): ProviderError {
  return new ProviderError('provider_error', `The provider sent ${what}.`, {
    phase: 'first_token',
    fallback: true,
    cause,
  });
}
