/**
 * Dialect `openai-media`, speech: `POST …/audio/speech`, which streams the audio as it is made. OpenAI reports tokens
 * only with events instead of audio, so there is no usage here.
 */
import type { StreamSink } from '../../contract/chat';
import type { ProviderCall } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import type { SpeechFormat, SpeechProvider, SpeechRequest, SpeechStream } from '../../contract/speech';
import { type Settler, StreamRelay } from '../../kit/stream-relay';
import type { ReplyReceiver, UpstreamExchange } from '../../kit/upstream-exchange';
import type { UpstreamHttp } from '../../kit/upstream-http';
import { contradictsFormat } from './speech-format';
import { toSpeechRequest } from './to-speech-request';

/** More than 40 min of uncompressed audio: 4,096 characters at the slowest speed take about half of that. */
const MAX_AUDIO_BYTES = 128 * 1024 * 1024;

export class OpenAiSpeech implements SpeechProvider {
  private readonly endpoint: string;

  constructor(private readonly http: Pick<UpstreamHttp, 'endpoint' | 'postForAudio'>) {
    this.endpoint = http.endpoint('audio/speech');
  }

  speak(request: SpeechRequest, call: ProviderCall): Promise<SpeechStream> {
    const body = JSON.stringify(toSpeechRequest(request, call));
    return new Promise((resolve, reject) => {
      const stream = new OpenAiSpeechStream(request.format, { resolve: () => resolve(stream), reject });
      stream.readFrom(this.http.postForAudio(this.endpoint, body, call, stream));
    });
  }
}

class OpenAiSpeechStream implements SpeechStream, ReplyReceiver {
  readonly progress = { audioBytes: 0, usage: null };
  private readonly relay: StreamRelay;
  private exchange: UpstreamExchange | null = null;
  private receivedBytes = 0;

  constructor(
    private readonly format: SpeechFormat,
    opening: Settler,
  ) {
    this.relay = new StreamRelay(opening, (bytes) => (this.progress.audioBytes += bytes));
  }

  readFrom(exchange: UpstreamExchange): void {
    this.exchange = exchange;
    this.relay.readFrom(exchange);
  }

  pipe(sink: StreamSink): Promise<void> {
    return this.relay.pipe(sink);
  }

  onData(chunk: Buffer): void {
    if (this.relay.phase !== 'stream' && contradictsFormat(this.format, chunk)) {
      throw noSpeech('audio in a format other than the one requested');
    }
    this.receivedBytes += chunk.length;
    if (this.receivedBytes > MAX_AUDIO_BYTES) {
      const { phase } = this.relay;
      throw new ProviderError('provider_error', 'The provider sent more than 128 MiB of audio.', {
        phase,
        fallback: false,
      });
    }
    this.exchange?.touch();
    this.relay.push(chunk);
  }

  onEnd(): void {
    if (this.relay.phase === 'stream') this.relay.end();
    else this.relay.fail(noSpeech('no sound'));
  }

  onFailure(error: ProviderError): void {
    this.relay.fail(error);
  }
}

function noSpeech(what: string): ProviderError {
  return new ProviderError('provider_error', `The provider sent ${what}.`, { phase: 'first_token', fallback: true });
}
