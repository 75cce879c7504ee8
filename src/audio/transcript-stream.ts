import type { Delivered, OpenedStream } from '../inference/inference.types';
import { eventOf } from '../inference/sse-reply';
import type { StreamSink } from '../providers/contract/chat';
import type { ProviderCall } from '../providers/contract/provider-call';
import type {
  Transcript,
  TranscriptionProvider,
  TranscriptionRequest,
  TranscriptStream,
  TranscriptStreamProgress,
} from '../providers/contract/transcription';
import type { UsageVector } from '../providers/contract/usage';
import { paidUsage } from './priced-by-tokens';

/** What is known of a transcript that is being written. */
export interface TranscriptProgress extends Delivered {
  readonly text: string;
  readonly tokensCount: boolean;
}

/** As it is written where the provider and the model can, be it one that stands in; else as the one delta of a whole transcript. */
export async function openTranscript(
  provider: TranscriptionProvider,
  request: TranscriptionRequest,
  call: ProviderCall,
): Promise<TranscriptStream> {
  if (provider.openStream !== undefined && call.features.streaming === true) return provider.openStream(request, call);
  return new WrittenTranscript(await provider.transcribe(request, call));
}

/** Metered by what is paid for: seconds that are known from the start, or the tokens that the provider reports. */
export class MeteredTranscript implements OpenedStream<TranscriptProgress> {
  constructor(
    private readonly stream: TranscriptStream,
    private readonly seconds: UsageVector,
    private readonly tokensCount: boolean,
  ) {}

  get progress(): TranscriptProgress {
    const { outputBytes, text, usage } = this.stream.progress;
    const { tokensCount } = this;
    return { outputBytes, text, tokensCount, usage: paidUsage(usage, this.seconds, tokensCount) };
  }

  pipe(sink: StreamSink): Promise<void> {
    return this.stream.pipe(sink);
  }
}

class WrittenTranscript implements TranscriptStream {
  private outputBytes = 0;

  constructor(private readonly transcript: Transcript) {}

  get progress(): TranscriptStreamProgress {
    const { text, usage } = this.transcript;
    return { outputBytes: this.outputBytes, text, usage };
  }

  async pipe(sink: StreamSink): Promise<void> {
    const { text } = this.transcript;
    if (text === '') return;
    sink.write(eventOf({ type: 'transcript.text.delta', delta: text }));
    this.outputBytes = Buffer.byteLength(text);
  }
}
