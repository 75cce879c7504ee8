/** Dialect `openai-media`, transcription: `POST …/audio/transcriptions`, at once or as a stream of text. */
import type { StreamSink } from '../../contract/chat';
import type { ProviderCall } from '../../contract/provider-call';
import { ProviderError, type ProviderPhase } from '../../contract/provider-error';
import type {
  Transcript,
  TranscriptionProvider,
  TranscriptionRequest,
  TranscriptSegment,
  TranscriptStream,
  TranscriptWord,
} from '../../contract/transcription';
import { NO_USAGE, type UsageVector } from '../../contract/usage';
import { isJsonObject, type JsonObject, parseJsonObject } from '../../kit/json';
import { type FormPart, MultipartBody } from '../../kit/multipart-body';
import { SseDecoder } from '../../kit/sse';
import { listTimed, notTranscript, present, secondsOf } from '../../kit/transcripts';
import { type Settler, StreamRelay } from '../../kit/upstream-stream';
import { mapInBandError, transportFailure } from '../../kit/upstream-errors';
import type { ReplyReceiver } from '../../kit/reply-receiver';
import type { UpstreamExchange, UpstreamHttp } from '../../kit/upstream-http';
import { detailsOf, toCount, toTotal } from '../../kit/usage';

export class OpenAiTranscription implements TranscriptionProvider {
  private readonly endpoint: string;

  constructor(private readonly http: Pick<UpstreamHttp, 'endpoint' | 'post' | 'postForStream'>) {
    this.endpoint = http.endpoint('audio/transcriptions');
  }

  async transcribe(request: TranscriptionRequest, call: ProviderCall): Promise<Transcript> {
    const form = toTranscriptionForm(request, call, false);
    return fromTranscriptReply(await this.http.post(this.endpoint, form, call), request);
  }

  openStream(request: TranscriptionRequest, call: ProviderCall): Promise<TranscriptStream> {
    const form = toTranscriptionForm(request, call, true);
    return new Promise((resolve, reject) => {
      const stream = new OpenAiTranscriptStream({ resolve: () => resolve(stream), reject });
      stream.readFrom(this.http.postForStream(this.endpoint, form, call, stream));
    });
  }
}

/**
 * The form of `POST …/audio/transcriptions`. Requests the verbose format only for timestamps, since newer models have
 * only the short one. The file is not copied, and comes last, so that hosts that parse forms as they arrive already
 * have all fields.
 */
export function toTranscriptionForm(
  request: TranscriptionRequest,
  { upstreamModel, quirks }: ProviderCall,
  streamed: boolean,
): MultipartBody {
  const { audio, contentType, fileName, language, prompt, temperature, timestamps } = request;
  const parts: FormPart[] = [
    { name: 'model', value: upstreamModel },
    { name: 'response_format', value: timestamps.length > 0 ? 'verbose_json' : 'json' },
    ...timestamps.map((value) => ({ name: 'timestamp_granularities[]', value })),
  ];
  if (language !== null) parts.push({ name: quirks.fieldNames?.['language'] ?? 'language', value: language });
  if (prompt !== null) parts.push({ name: 'prompt', value: prompt });
  if (temperature !== null) parts.push({ name: 'temperature', value: String(temperature) });
  if (streamed) parts.push({ name: 'stream', value: 'true' });
  parts.push({ name: 'file', fileName, contentType, bytes: audio });
  return new MultipartBody(parts);
}

/**
 * Reads a transcript from a reply, short or verbose. Pure.
 * @throws ProviderError for anything else, and when requested timestamps are missing, since subtitles need them
 */
export function fromTranscriptReply(
  body: Buffer,
  { timestamps }: Pick<TranscriptionRequest, 'timestamps'>,
): Transcript {
  const reply = parseReply(body);
  if (reply['error'] != null) throw mapInBandError(reply, 'first_token');
  const { text, language, usage } = reply;
  if (typeof text !== 'string') throw notTranscript();
  const segments = listTimed(reply['segments'], toSegment);
  const words = listTimed(reply['words'], toWord);
  return {
    text,
    language: typeof language === 'string' && language !== '' ? language : null,
    segments: timestamps.includes('segment') ? present(segments, text) : segments,
    words: timestamps.includes('word') ? present(words, text) : words,
    usage: toTranscriptUsage(usage),
    reportedSeconds: toTranscriptSeconds(reply['duration'], usage),
  };
}

/** Servers other than OpenAI's omit fields that their model does not report; clients expect every field. */
function toSegment(item: JsonObject, index: number): TranscriptSegment {
  const { text, tokens } = item;
  if (typeof text !== 'string') throw notTranscript();
  return {
    id: numberOf(item['id'], index),
    seek: numberOf(item['seek'], 0),
    start: secondsOf(item['start']),
    end: secondsOf(item['end']),
    text,
    tokens: Array.isArray(tokens) ? tokens.filter((token) => typeof token === 'number') : [],
    temperature: numberOf(item['temperature'], 0),
    avg_logprob: numberOf(item['avg_logprob'], 0),
    compression_ratio: numberOf(item['compression_ratio'], 0),
    no_speech_prob: numberOf(item['no_speech_prob'], 0),
  };
}

function toWord(item: JsonObject): TranscriptWord {
  const { word } = item;
  if (typeof word !== 'string') throw notTranscript();
  return { word, start: secondsOf(item['start']), end: secondsOf(item['end']) };
}

function numberOf(value: unknown, fallback: number): number {
  return typeof value === 'number' ? value : fallback;
}

/** The `usage` of a transcript, where it counts tokens. */
export function toTranscriptUsage(usage: unknown): UsageVector | null {
  if (!isJsonObject(usage)) return null;
  const input = toTotal(usage['input_tokens']);
  const outputText = toTotal(usage['output_tokens']);
  if (input === null || outputText === null) return null;
  const inputText = Math.min(toCount(detailsOf(usage, 'input_token_details')['text_tokens']), input);
  return { ...NO_USAGE, inputText, inputAudio: input - inputText, outputText };
}

/**
 * Seconds of audio by the `duration` of a verbose reply, else by its `usage`; `null` when neither is a positive number.
 */
export function toTranscriptSeconds(duration: unknown, usage: unknown): number | null {
  const reported = [duration, isJsonObject(usage) && usage['type'] === 'duration' ? usage['seconds'] : null];
  for (const value of reported) {
    // OpenAI's own specification once declared the duration as a string.
    const seconds = typeof value === 'string' ? Number(value) : value;
    if (typeof seconds === 'number' && Number.isFinite(seconds) && seconds > 0) return seconds;
  }
  return null;
}

function parseReply(body: Buffer): JsonObject {
  const value = parseJsonObject(body);
  if (value === null) throw notTranscript();
  return value;
}

/** How long the upstream may take after the last event to end its reply, so that the connection can be reused. */
const TAIL_LIMIT_MS = 2_000;

/** One streamed transcript: receives the upstream's events, writes deltas to the sink. */
class OpenAiTranscriptStream implements TranscriptStream, ReplyReceiver {
  readonly progress: {
    outputBytes: number;
    text: string;
    usage: UsageVector | null;
    reportedSeconds: number | null;
  } = { outputBytes: 0, text: '', usage: null, reportedSeconds: null };
  private readonly relay: StreamRelay<Buffer>;
  private readonly decoder = new SseDecoder((event) => this.read(event));
  private exchange: UpstreamExchange | null = null;
  private done = false;

  constructor(opening: Settler) {
    this.relay = new StreamRelay<Buffer>(opening, Buffer.concat, () => {
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
    this.relay.enterStream();
    const frame = Buffer.from(`data: ${JSON.stringify({ type: 'transcript.text.delta', delta })}\n\n`);
    this.relay.push(frame, frame.length);
  }

  private endWhenDone(): void {
    if (!this.done) return;
    this.exchange?.expectEndWithin(TAIL_LIMIT_MS);
    this.relay.end();
  }
}

function incomplete({ phase }: StreamRelay<Buffer>): ProviderError {
  return new ProviderError('provider_disconnect', 'The provider ended the stream before the transcript was complete.', {
    phase,
    fallback: phase !== 'stream',
  });
}

/** The content of one event of a streamed transcript. */
export interface TranscriptEvent {
  /** The next piece of text. */
  readonly delta?: string;
  /** The whole text, once it is complete. */
  readonly text?: string;
  readonly done?: true;
  readonly usage?: unknown;
}

const NOTHING: TranscriptEvent = {};
const DONE: TranscriptEvent = { done: true };

/**
 * Reads the `data` of an event: OpenAI's `transcript.text.delta` and `.done`, or the chunks that vLLM sends, which look
 * like chat chunks.
 * @throws ProviderError for an error event, and for invalid JSON
 */
function readTranscriptEvent(data: Buffer, phase: ProviderPhase): TranscriptEvent {
  const text = data.toString('utf8');
  if (text === '[DONE]') return DONE;
  const event = parseEvent(text, phase);
  if (event['error'] != null || event['type'] === 'error') throw mapInBandError(event, phase);
  switch (event['type']) {
    case 'transcript.text.delta':
      return typeof event['delta'] === 'string' ? { delta: event['delta'] } : NOTHING;
    case 'transcript.text.done':
      return { done: true, usage: event['usage'], ...(typeof event['text'] === 'string' && { text: event['text'] }) };
    default:
      return Array.isArray(event['choices']) ? readChunk(event['choices'][0]) : NOTHING;
  }
}

function readChunk(choice: unknown): TranscriptEvent {
  if (!isJsonObject(choice)) return NOTHING;
  const { delta, finish_reason: reason } = choice;
  const content = isJsonObject(delta) ? delta['content'] : undefined;
  return { ...(typeof content === 'string' && { delta: content }), ...(typeof reason === 'string' && DONE) };
}

function parseEvent(text: string, phase: ProviderPhase): JsonObject {
  const value = parseJsonObject(text);
  if (value === null)
    throw new ProviderError('provider_error', 'The provider sent an event that is not JSON.', {
      phase,
      fallback: true,
    });
  return value;
}
