import type { Clock } from '../../../common/clock';
import type { StreamSink } from '../../contract/chat';
import type { ProviderCall } from '../../contract/provider-call';
import type {
  Transcript,
  TranscriptionProvider,
  TranscriptionRequest,
  TranscriptStream,
  TranscriptStreamProgress,
} from '../../contract/transcription';
import { NO_USAGE, type UsageVector } from '../../contract/usage';
import { CallTimer } from './call-timer';
import { readScript, type Script } from './script';
import { type Fault, streamFaultOf } from './scripted-fault';
import { untilFirstByte, untilReply } from './scripted-wait';
import { listen } from './sound/listen';
import { tokenize } from './tokens';
import { segmentsOf, wordsOf } from './transcript';

const DEFAULT_TOKEN_DELAY_MS = 2;
const DEFAULT_LANGUAGE = 'en';
const TOKENS_PER_SECOND = 10;
const languageNames = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'code' });

/**
 * Transcription without a model: it reads the words that a file says it holds, as those of the mock's own speech do; of
 * other files it tells what they are.
 */
export class MockTranscription implements TranscriptionProvider {
  constructor(private readonly clock: Clock) {}

  async transcribe(request: TranscriptionRequest, call: ProviderCall): Promise<Transcript> {
    const timer = new CallTimer(call, this.clock);
    timer.check('headers');
    const { script, heard } = await hear(request);
    const { text, seconds } = heard;
    await untilReply(script, timer, this.clock, script.delayMs ?? 0);
    const { language, temperature, timestamps } = request;
    return {
      text,
      language: nameOf(language),
      segments: timestamps.includes('segment') ? segmentsOf(text, seconds, temperature ?? 0) : null,
      words: timestamps.includes('word') ? wordsOf(text, seconds) : null,
      usage: usageOf(script, heard),
    };
  }

  async openStream(request: TranscriptionRequest, call: ProviderCall): Promise<TranscriptStream> {
    const timer = new CallTimer(call, this.clock);
    timer.check('headers');
    const { script, heard } = await hear(request);
    await untilFirstByte(script, timer, this.clock, 0);
    const fault = streamFaultOf(script);
    if (fault?.after === 0) throw fault.error;
    const delayMs = script.delayMs ?? DEFAULT_TOKEN_DELAY_MS;
    return new MockTranscriptStream(tokenize(heard.text), { delayMs, fault, usage: usageOf(script, heard) }, timer);
  }
}

interface Heard {
  readonly text: string;
  readonly seconds: number;
}

async function hear({ audio, prompt, contentType }: TranscriptionRequest): Promise<{ script: Script; heard: Heard }> {
  const { script, text } = readScript(prompt ?? '', 'prompt');
  const { seconds, transcript } = await listen(audio);
  const said = script.say === true ? text.trim() : (transcript ?? describe(contentType, audio.length, seconds));
  return { script, heard: { text: said, seconds } };
}

function describe(contentType: string, bytes: number, seconds: number): string {
  const kind = contentType.replace(/^audio\/(?:x-)?/, '').toUpperCase();
  return (
    `This is a recording of ${seconds.toFixed(1)} seconds. It came as ${kind} in ${bytes} bytes. ` +
    'The mock has measured it, and does not understand what is said in it.'
  );
}

/** As Whisper has it: `english` rather than `en`. */
function nameOf(language: string | null): string {
  try {
    return (languageNames.of(language ?? DEFAULT_LANGUAGE) ?? DEFAULT_LANGUAGE).toLowerCase();
  } catch {
    return language ?? DEFAULT_LANGUAGE;
  }
}

/** Reported only where the script says so: seconds are the edge's to count. */
function usageOf({ usagePrompt, usageCompletion }: Script, { text, seconds }: Heard): UsageVector | null {
  if (usagePrompt === undefined && usageCompletion === undefined) return null;
  return {
    ...NO_USAGE,
    inputAudio: usagePrompt ?? Math.ceil(seconds * TOKENS_PER_SECOND),
    outputText: usageCompletion ?? tokenize(text).length,
  };
}

interface TranscriptPlan {
  /** Between two tokens; 0: as fast as the event loop turns. */
  readonly delayMs: number;
  readonly fault: Fault | null;
  readonly usage: UsageVector | null;
}

class MockTranscriptStream implements TranscriptStream {
  private text = '';
  private usage: UsageVector | null = null;

  constructor(
    private readonly tokens: readonly string[],
    private readonly plan: TranscriptPlan,
    private readonly timer: CallTimer,
  ) {}

  get progress(): TranscriptStreamProgress {
    return { outputBytes: Buffer.byteLength(this.text), text: this.text, usage: this.usage };
  }

  async pipe(sink: StreamSink): Promise<void> {
    const { delayMs, fault, usage } = this.plan;
    this.timer.check('stream');
    for (const [sent, delta] of this.tokens.entries()) {
      if (sent > 0) await (delayMs > 0 ? this.timer.wait(delayMs, 'stream') : this.timer.turn('stream'));
      if (sent === fault?.after) break;
      this.text += delta;
      const frame = `data: ${JSON.stringify({ type: 'transcript.text.delta', delta })}\n\n`;
      if (!sink.write(frame)) await this.timer.waitFor(sink.drained(), 'stream');
    }
    if (fault !== null) throw fault.error;
    this.usage = usage;
  }
}
