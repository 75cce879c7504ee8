import type { Clock } from '../../../core/time/clock';
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
import { measureAudio } from './media/measure-audio';
import { readScript, type Script } from './script';
import { type Fault, streamFaultOf } from './scripted-fault';
import { waitForFirstByte, waitForReply } from './scripted-fault';
import { tokenize } from './tokens';
import { segmentsOf, wordsOf } from './transcript';

const DEFAULT_TOKEN_DELAY_MS = 2;
const DEFAULT_LANGUAGE = 'en';
const TOKENS_PER_SECOND = 10;
const languageNames = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'code' });

/**
 * Transcription without a model: it reads the words from the tag of files made by the mock's own speech; other files
 * are described.
 */
export class MockTranscription implements TranscriptionProvider {
  constructor(private readonly clock: Clock) {}

  async transcribe(request: TranscriptionRequest, call: ProviderCall): Promise<Transcript> {
    const timer = new CallTimer(call, this.clock);
    timer.check('headers');
    const { script, recording } = await readRecording(request);
    const { text, seconds } = recording;
    await waitForReply(script, timer, this.clock, script.delayMs ?? 0);
    const { language, temperature, timestamps } = request;
    return {
      text,
      language: nameOf(language),
      segments: timestamps.includes('segment') ? segmentsOf(text, seconds, temperature ?? 0) : null,
      words: timestamps.includes('word') ? wordsOf(text, seconds) : null,
      usage: usageOf(script, recording),
      reportedSeconds: null,
    };
  }

  async openStream(request: TranscriptionRequest, call: ProviderCall): Promise<TranscriptStream> {
    const timer = new CallTimer(call, this.clock);
    timer.check('headers');
    const { script, recording } = await readRecording(request);
    await waitForFirstByte(script, timer, this.clock, 0);
    const fault = streamFaultOf(script);
    if (fault?.after === 0) throw fault.error;
    const delayMs = script.delayMs ?? DEFAULT_TOKEN_DELAY_MS;
    return new MockTranscriptStream(
      tokenize(recording.text),
      { delayMs, fault, usage: usageOf(script, recording) },
      timer,
    );
  }
}

interface Recording {
  readonly text: string;
  readonly seconds: number;
}

async function readRecording({
  audio,
  prompt,
  contentType,
}: TranscriptionRequest): Promise<{ script: Script; recording: Recording }> {
  const { script, text } = readScript(prompt ?? '', 'prompt');
  const { seconds, transcript } = await measureAudio(audio);
  const spoken = script.say === true ? text.trim() : (transcript ?? describe(contentType, audio.length, seconds));
  return { script, recording: { text: spoken, seconds } };
}

function describe(contentType: string, bytes: number, seconds: number): string {
  const kind = contentType.replace(/^audio\/(?:x-)?/, '').toUpperCase();
  return (
    `This is a recording of ${seconds.toFixed(1)} seconds. It came as ${kind} in ${bytes} bytes. ` +
    'The mock has measured it, and does not understand what is said in it.'
  );
}

/** Whisper's name: `english` rather than `en`. */
function nameOf(language: string | null): string {
  try {
    return (languageNames.of(language ?? DEFAULT_LANGUAGE) ?? DEFAULT_LANGUAGE).toLowerCase();
  } catch {
    return language ?? DEFAULT_LANGUAGE;
  }
}

/** Reported only if scripted: the edge counts seconds. */
function usageOf({ usagePrompt, usageCompletion }: Script, { text, seconds }: Recording): UsageVector | null {
  if (usagePrompt === undefined && usageCompletion === undefined) return null;
  return {
    ...NO_USAGE,
    inputAudio: usagePrompt ?? Math.ceil(seconds * TOKENS_PER_SECOND),
    outputText: usageCompletion ?? tokenize(text).length,
  };
}

interface TranscriptPlan {
  /** Delay between two tokens; 0: one token per iteration of the event loop. */
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
    const { text, usage } = this;
    return { outputBytes: Buffer.byteLength(text), text, usage, reportedSeconds: null };
  }

  async pipe(sink: StreamSink): Promise<void> {
    const { delayMs, fault, usage } = this.plan;
    this.timer.check('stream');
    for (const [sent, delta] of this.tokens.entries()) {
      if (sent > 0) await (delayMs > 0 ? this.timer.wait(delayMs, 'stream') : this.timer.nextIteration('stream'));
      if (sent === fault?.after) break;
      this.text += delta;
      const frame = `data: ${JSON.stringify({ type: 'transcript.text.delta', delta })}\n\n`;
      if (!sink.write(frame)) await this.timer.waitFor(sink.drained(), 'stream');
    }
    if (fault !== null) throw fault.error;
    this.usage = usage;
  }
}
