import type { CompiledPrice } from '../billing/pricing/price';
import type { Bill, Delivered, OpenedStream, PricedText } from '../inference/inference.types';
import { eventOf } from '../core/http/answer';
import type { StreamSink } from '../providers/contract/chat';
import type { SpeechFormat, SpeechStream } from '../providers/contract/speech';
import { inputTokensOf, outputTokensOf, type UsageVector } from '../providers/contract/usage';
import { paidUsage } from './priced-by-tokens';

/** Content types of the original API. PCM is 24 kHz, mono, signed 16-bit little-endian. */
export const SPEECH_CONTENT_TYPES: Readonly<Record<SpeechFormat, string>> = {
  mp3: 'audio/mpeg',
  opus: 'audio/opus',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
};

/** A provider's audio stream with its character count. Reported usage matters only where tokens are charged. */
export class SpokenAudio implements OpenedStream<Delivered> {
  constructor(
    private readonly speech: SpeechStream,
    private readonly characters: UsageVector,
    private readonly price: CompiledPrice,
  ) {}

  get progress(): Delivered {
    const { audioBytes: outputBytes, usage: reported } = this.speech.progress;
    return { outputBytes, usage: paidUsage(reported, this.characters, this.price) };
  }

  pipe(sink: StreamSink): Promise<void> {
    return this.speech.pipe(sink);
  }
}

/** The stream as `speech.audio.delta` events (`stream_format: sse`). */
export class SpokenEvents extends SpokenAudio {
  override pipe(sink: StreamSink): Promise<void> {
    return super.pipe({
      write: (bytes) => {
        const audio = (typeof bytes === 'string' ? Buffer.from(bytes) : bytes).toString('base64');
        return sink.write(`data: {"type":"speech.audio.delta","audio":"${audio}"}\n\n`);
      },
      drained: () => sink.drained(),
    });
  }
}

/** The final event, with a gap for its cost. */
export function speechDoneEvent({ usage, usageEstimated }: Bill): PricedText {
  const [input_tokens, output_tokens] = [inputTokensOf(usage), outputTokensOf(usage)];
  const counts = {
    input_tokens,
    output_tokens,
    total_tokens: input_tokens + output_tokens,
    characters: usage.characters,
    ...(usageEstimated && { x_llm_usage_estimated: true }),
  };
  const event = eventOf({ type: 'speech.audio.done', usage: counts }).trimEnd();
  return { head: `${event.slice(0, -2)},"x_llm_cost_micro":`, tail: '}}\n\n' };
}
