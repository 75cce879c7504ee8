/**
 * Speech by Gemini models: `POST …:streamGenerateContent`, which answers with samples in events
 * (https://ai.google.dev/gemini-api/docs/speech-generation).
 */
import type { StreamSink } from '../../contract/chat';
import type { ProviderCall } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import type { SpeechFormat, SpeechProvider, SpeechRequest, SpeechStream } from '../../contract/speech';
import type { UsageVector } from '../../contract/usage';
import { decodeBase64, isJsonObject, type JsonObject, parseJsonObject } from '../../kit/json';
import { SseDecoder } from '../../kit/sse';
import { unsupported } from '../../kit/unsupported';
import { mapInBandError, transportFailure } from '../../kit/upstream-errors';
import type { ReplyReceiver } from '../../kit/reply-receiver';
import type { UpstreamExchange, UpstreamHttp } from '../../kit/upstream-http';
import { type Settler, StreamRelay } from '../../kit/upstream-stream';
import { wavHeader } from '../../kit/wav-header';
import { ModelEndpoints } from './model-endpoints';
import { toUsage } from './usage';

const SAMPLE_RATE = 24_000;
/** Some models send all of their audio in one event. */
const MAX_EVENT_BYTES = 32 * 1024 * 1024;
/** What precedes the samples; a format without an entry is not supported. */
const HEADERS: Readonly<Partial<Record<SpeechFormat, Buffer>>> = { pcm: Buffer.alloc(0), wav: wavHeader(SAMPLE_RATE) };
const RATE = /\brate=(\d+)/;
const ENUM_VALUE = /^[A-Z_]{1,64}$/;

export class GeminiSpeech implements SpeechProvider {
  private readonly endpoints: ModelEndpoints;

  constructor(private readonly http: Pick<UpstreamHttp, 'endpoint' | 'postForStream'>) {
    this.endpoints = new ModelEndpoints(http, 'streamGenerateContent', 'alt=sse');
  }

  async speak(request: SpeechRequest, call: ProviderCall): Promise<SpeechStream> {
    const header = HEADERS[request.format];
    if (header === undefined) throw unsupported('response_format');
    const body = JSON.stringify(toSpeech(request));
    return new Promise((resolve, reject) => {
      const stream = new GeminiSpeechStream(header, { resolve: () => resolve(stream), reject });
      stream.readFrom(this.http.postForStream(this.endpoints.of(call.upstreamModel), body, call, stream));
    });
  }
}

/** Pure. @throws ProviderError `validation_failed` with `param` */
export function toSpeech({ input, voice, speed, instructions }: SpeechRequest): JsonObject {
  if (speed !== null && speed !== 1) throw unsupported('speed');
  if (instructions !== null) throw unsupported('instructions');
  return {
    contents: [{ role: 'user', parts: [{ text: input }] }],
    generationConfig: {
      responseModalities: ['AUDIO'],
      speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: voice } } },
    },
  };
}

class GeminiSpeechStream implements SpeechStream, ReplyReceiver {
  readonly progress: { audioBytes: number; usage: UsageVector | null } = { audioBytes: 0, usage: null };
  private readonly relay: StreamRelay<Buffer>;
  private readonly decoder = new SseDecoder((event) => this.read(event), MAX_EVENT_BYTES);
  private exchange: UpstreamExchange | null = null;
  private finishReason: string | null = null;

  constructor(
    private readonly header: Buffer,
    opening: Settler,
  ) {
    this.relay = new StreamRelay<Buffer>(opening, Buffer.concat, (bytes) => (this.progress.audioBytes += bytes));
  }

  readFrom(exchange: UpstreamExchange): void {
    this.exchange = exchange;
    this.relay.readFrom(exchange);
  }

  pipe(sink: StreamSink): Promise<void> {
    return this.relay.pipe(sink);
  }

  onData(chunk: Buffer): void {
    if (this.decoder.push(chunk)) this.exchange?.touch();
  }

  onEnd(): void {
    try {
      this.decoder.end();
      this.conclude();
    } catch (error) {
      this.onFailure(error instanceof ProviderError ? error : transportFailure(this.relay.phase, error));
    }
  }

  onFailure(error: ProviderError): void {
    this.relay.fail(error);
  }

  private read(data: Buffer): void {
    const { phase } = this.relay;
    const event = parseJsonObject(data);
    if (event === null) throw this.failure('an event that is not JSON');
    if (event['error'] != null) throw mapInBandError(event, phase);
    const { candidates, promptFeedback, usageMetadata } = event;
    if (isJsonObject(promptFeedback) && promptFeedback['blockReason'] != null) {
      throw this.filtered(promptFeedback['blockReason']);
    }
    this.progress.usage = toUsage(usageMetadata) ?? this.progress.usage;
    const candidate: unknown = Array.isArray(candidates) ? candidates[0] : undefined;
    if (!isJsonObject(candidate)) return;
    const parts: unknown = isJsonObject(candidate['content']) ? candidate['content']['parts'] : undefined;
    for (const part of Array.isArray(parts) ? (parts as readonly unknown[]) : []) {
      if (isJsonObject(part) && isJsonObject(part['inlineData'])) this.write(part['inlineData']);
    }
    if (typeof candidate['finishReason'] === 'string') this.finishReason = candidate['finishReason'];
  }

  private write({ mimeType, data }: JsonObject): void {
    const rate = RATE.exec(String(mimeType))?.[1];
    const samples = typeof data === 'string' ? decodeBase64(data) : null;
    if (samples === null || (rate !== undefined && Number(rate) !== SAMPLE_RATE)) {
      throw this.failure('audio in a format other than the documented one');
    }
    const isFirst = this.relay.phase !== 'stream';
    this.relay.open();
    if (isFirst && this.header.length > 0) this.relay.push(this.header, this.header.length);
    this.relay.push(samples, samples.length);
  }

  /** The answer is complete only with the reason `STOP`. */
  private conclude(): void {
    const { phase } = this.relay;
    if (phase === 'stream' && this.finishReason === 'STOP') {
      this.relay.end();
      return;
    }
    if (this.finishReason === null) {
      throw new ProviderError('provider_disconnect', 'The provider ended the stream before the speech was complete.', {
        phase,
        fallback: phase !== 'stream',
      });
    }
    throw this.finishReason === 'STOP' || this.finishReason === 'OTHER'
      ? this.failure('no sound')
      : this.filtered(this.finishReason);
  }

  private failure(what: string): ProviderError {
    const { phase } = this.relay;
    return new ProviderError('provider_error', `The provider sent ${what}.`, { phase, fallback: phase !== 'stream' });
  }

  private filtered(reason: unknown): ProviderError {
    const code = typeof reason === 'string' && ENUM_VALUE.test(reason) ? reason : null;
    return new ProviderError('validation_failed', 'The provider’s content policy refused the request.', {
      phase: this.relay.phase,
      fallback: false,
      details: { reason: 'content_filtered', provider_code: code, provider_message: null },
    });
  }
}
