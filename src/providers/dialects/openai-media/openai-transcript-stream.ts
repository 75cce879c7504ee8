import type { StreamSink } from '../../contract/chat';
import { ProviderError } from '../../contract/provider-error';
import type { TranscriptStream } from '../../contract/transcription';
import type { UsageVector } from '../../contract/usage';
import { SseDecoder } from '../../kit/sse-decoder';
import { type Settler, StreamRelay } from '../../kit/stream-relay';
import { transportFailure } from '../../kit/transport-error';
import type { ReplyReceiver, UpstreamExchange } from '../../kit/upstream-exchange';
import { toTranscriptSeconds, toTranscriptUsage } from './media-usage';
import { readTranscriptEvent } from './transcript-event';

/** How long the upstream may take after the last event to end its reply, so that the connection can be reused. */
const TAIL_LIMIT_MS = 2_000;

/** One streamed transcript: receives the upstream's events, writes deltas to the sink. */
export class OpenAiTranscriptStream implements TranscriptStream, ReplyReceiver {
  readonly progress: {
    outputBytes: number;
    text: string;
    usage: UsageVector | null;
    reportedSeconds: number | null;
  } = { outputBytes: 0, text: '', usage: null, reportedSeconds: null };
  private readonly relay: StreamRelay;
  private readonly decoder = new SseDecoder((event) => this.read(event));
  private exchange: UpstreamExchange | null = null;
  private done = false;

  constructor(opening: Settler) {
    this.relay = new StreamRelay(opening, () => {
      this.progress.outputBytes = Buffer.byteLength(this.progress.text);
    });
  }

  readFrom(exchange: UpstreamExchange): void {
    this.exchange = exchange;
    this.relay.readFrom(exchange);
  }

  pipe(sink: StreamSink): Promise<void> {
    return this.relay.pipe(sink);
  }

  onData(chunk: Buffer): void {
    if (this.done) return;
    if (this.decoder.push(chunk)) this.exchange?.touch();
    this.endWhenDone();
  }

  onEnd(): void {
    try {
      if (!this.done) this.decoder.end();
    } catch (error) {
      this.onFailure(error instanceof ProviderError ? error : transportFailure(this.relay.phase, error));
      return;
    }
    this.endWhenDone();
    this.relay.fail(incomplete(this.relay));
  }

  onFailure(error: ProviderError): void {
    this.relay.fail(error);
  }

  private read(data: Buffer): void {
    if (this.done) return;
    const { delta, text, done, usage } = readTranscriptEvent(data, this.relay.phase);
    this.write(delta ?? '');
    if (done !== true) return;
    this.done = true;
    this.progress.usage = toTranscriptUsage(usage);
    this.progress.reportedSeconds = toTranscriptSeconds(null, usage);
    // Some hosts announce a stream and then send everything at once.
    if (this.progress.text === '') this.write(text ?? '');
  }

  private write(delta: string): void {
    if (delta === '') return;
    this.progress.text += delta;
    this.relay.push(Buffer.from(`data: ${JSON.stringify({ type: 'transcript.text.delta', delta })}\n\n`));
  }

  private endWhenDone(): void {
    if (!this.done) return;
    this.exchange?.expectEndWithin(TAIL_LIMIT_MS);
    this.relay.end();
  }
}

function incomplete({ phase }: StreamRelay): ProviderError {
  return new ProviderError('provider_disconnect', 'The provider ended the stream before the transcript was complete.', {
    phase,
    fallback: phase !== 'stream',
  });
}
