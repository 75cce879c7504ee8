import type { Clock } from '../../../core/time/clock';
import type { StreamSink } from '../../contract/chat';
import type { ProviderCall } from '../../contract/provider-call';
import type { SpeechProgress, SpeechProvider, SpeechRequest, SpeechStream } from '../../contract/speech';
import { NO_USAGE, type UsageVector } from '../../contract/usage';
import { CallTimer } from './call-timer';
import { SPEECH_RATE, streamAudio } from './media/audio';
import { hashText } from './random';
import { readScript, type Script } from './script';
import { type Fault, streamFaultOf } from './scripted-fault';
import { waitForFirstByte } from './scripted-fault';

const CHARACTERS_PER_SECOND = 14;
const DEFAULT_PIECE_SECONDS = 0.5;
const TOKENS_PER_BYTE = 0.25;
const TOKENS_PER_SECOND = 20;

/** Speech without a model: a fixed recording, repeated for as long as it takes to speak the text. */
export class MockSpeech implements SpeechProvider {
  constructor(private readonly clock: Clock) {}

  async speak(request: SpeechRequest, call: ProviderCall): Promise<SpeechStream> {
    const timer = new CallTimer(call, this.clock);
    timer.check('headers');
    const { script, text } = readScript(request.input, 'input');
    const characters = Array.from(text === '' ? ' ' : text).length;
    const seconds = characters / (CHARACTERS_PER_SECOND * (request.speed ?? 1));
    await waitForFirstByte(script, timer, this.clock, 0);
    const fault = streamFaultOf(script);
    if (fault?.after === 0) throw fault.error;
    const pieceSeconds = script.chunks === undefined ? DEFAULT_PIECE_SECONDS : seconds / script.chunks;
    const pieces = streamAudio(
      {
        kind: 'speech',
        format: request.format,
        seconds,
        sampleRate: SPEECH_RATE,
        seed: hashText(request.voice, hashText(text)),
        transcript: text.trim(),
      },
      pieceSeconds,
    );
    const first = await nextPiece(pieces);
    const usage = usageOf(script, text, seconds);
    return new MockSpeechStream(first, pieces, { delayMs: script.delayMs ?? 0, fault, usage }, timer);
  }
}

type Pieces = AsyncGenerator<Buffer, void, void>;

interface SpeechPlan {
  /** Between two pieces. */
  readonly delayMs: number;
  readonly fault: Fault | null;
  readonly usage: UsageVector | null;
}

class MockSpeechStream implements SpeechStream {
  private audioBytes = 0;
  private usage: UsageVector | null = null;

  constructor(
    private readonly first: Buffer | null,
    private readonly pieces: Pieces,
    private readonly plan: SpeechPlan,
    private readonly timer: CallTimer,
  ) {}

  get progress(): SpeechProgress {
    return { audioBytes: this.audioBytes, usage: this.usage };
  }

  async pipe(sink: StreamSink): Promise<void> {
    const { delayMs, fault, usage } = this.plan;
    try {
      this.timer.check('stream');
      let sent = 0;
      for (let piece = this.first; piece !== null && sent !== fault?.after; piece = await nextPiece(this.pieces)) {
        if (sent > 0) await (delayMs > 0 ? this.timer.wait(delayMs, 'stream') : this.timer.nextIteration('stream'));
        this.audioBytes += piece.length;
        if (!sink.write(piece)) await this.timer.waitFor(sink.drained(), 'stream');
        sent += 1;
      }
      if (fault !== null) throw fault.error;
      this.usage = usage;
    } finally {
      await this.pieces.return();
    }
  }
}

/** The next bytes; `null` at the end. */
async function nextPiece(pieces: Pieces): Promise<Buffer | null> {
  for (;;) {
    const { done, value } = await pieces.next();
    if (done === true) return null;
    if (value.length > 0) return value;
  }
}

/** Reported only if scripted: the edge counts characters. */
function usageOf({ usagePrompt, usageCompletion }: Script, text: string, seconds: number): UsageVector | null {
  if (usagePrompt === undefined && usageCompletion === undefined) return null;
  return {
    ...NO_USAGE,
    inputText: usagePrompt ?? Math.ceil(Buffer.byteLength(text) * TOKENS_PER_BYTE),
    outputAudio: usageCompletion ?? Math.ceil(seconds * TOKENS_PER_SECOND),
  };
}
