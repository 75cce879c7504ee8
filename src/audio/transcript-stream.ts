import type { CompiledPrice } from '../billing/pricing/price';
import type { Delivered, OpenedStream } from '../inference/inference.types';
import { eventOf } from '../core/http/answer';
import type { StreamSink } from '../providers/contract/chat';
import type { ProviderCall } from '../providers/contract/provider-call';
import type {
  Transcript,
  TranscriptionProvider,
  TranscriptionRequest,
  TranscriptStream,
  TranscriptStreamProgress,
} from '../providers/contract/transcription';
import { paidUsage } from './priced-by-tokens';
import { chargedSeconds, secondsUsage } from './transcription-request';

/** Progress of a streamed transcript. */
export interface TranscriptProgress extends Delivered {
  readonly text: string;
  readonly tokensCount: boolean;
}

/** Streams the transcript if provider and model (possibly a fallback) support it, else sends it as a single delta. */
export async function openTranscript(
  provider: TranscriptionProvider,
  request: TranscriptionRequest,
  call: ProviderCall,
): Promise<TranscriptStream> {
  if (provider.openStream !== undefined && call.features.streaming === true) return provider.openStream(request, call);
  return new CompleteTranscript(await provider.transcribe(request, call));
}

/** Metered by the reported tokens where the price charges tokens, else by seconds (`chargedSeconds`). */
export class MeteredTranscript implements OpenedStream<TranscriptProgress> {
  constructor(
    private readonly stream: TranscriptStream,
    private readonly measuredSeconds: number,
    private readonly price: CompiledPrice,
  ) {}

  get progress(): TranscriptProgress {
    const { outputBytes, text, usage, reportedSeconds } = this.stream.progress;
    const { price } = this;
    const known = secondsUsage(chargedSeconds(this.measuredSeconds, reportedSeconds));
    return { outputBytes, text, tokensCount: price.isByTokens, usage: paidUsage(usage, known, price) };
  }

  pipe(sink: StreamSink): Promise<void> {
    return this.stream.pipe(sink);
  }
}

class CompleteTranscript implements TranscriptStream {
  private outputBytes = 0;

  constructor(private readonly transcript: Transcript) {}

  get progress(): TranscriptStreamProgress {
    const { text, usage, reportedSeconds } = this.transcript;
    return { outputBytes: this.outputBytes, text, usage, reportedSeconds };
  }

  async pipe(sink: StreamSink): Promise<void> {
    const { text } = this.transcript;
    if (text === '') return;
    sink.write(eventOf({ type: 'transcript.text.delta', delta: text }));
    this.outputBytes = Buffer.byteLength(text);
  }
}
