/**
 * Dialect `openai-media`, speech: `POST …/audio/speech`, which streams the audio as it is made. OpenAI reports tokens
 * only with events instead of audio, so there is no usage here.
 */
import type { StreamSink } from '../../contract/chat';
import type { ProviderCall } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import type { SpeechFormat, SpeechProvider, SpeechRequest, SpeechStream } from '../../contract/speech';
import type { JsonObject } from '../../kit/json';
import { type Settler, StreamRelay } from '../../kit/upstream-stream';
import type { ReplyReceiver, UpstreamExchange, UpstreamHttp } from '../../kit/upstream-http';

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
  private readonly relay: StreamRelay<Buffer>;
  private exchange: UpstreamExchange | null = null;
  private receivedBytes = 0;

  constructor(
    private readonly format: SpeechFormat,
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
    this.relay.open();
    this.relay.push(chunk, chunk.length);
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

/** The body of `POST …/audio/speech`. Pure. Unset fields are omitted: many hosts only know the first four. */
export function toSpeechRequest(request: SpeechRequest, { upstreamModel }: ProviderCall): JsonObject {
  const { input, voice, format, speed, instructions } = request;
  return {
    model: upstreamModel,
    input,
    voice,
    response_format: format,
    ...(speed !== null && { speed }),
    ...(instructions !== null && { instructions }),
  };
}

const MPEG_SYNC = 0xe0;
const LAYER_BITS = 0x06;

/**
 * Whether the first bytes of the audio contradict the requested format. Some hosts always send their only format, which
 * a player that trusts the content type cannot play. Unknown bytes are accepted.
 */
export function contradictsFormat(format: SpeechFormat, sound: Buffer): boolean {
  // The tag may precede frames of either format.
  if (sound.toString('latin1', 0, 3) === 'ID3') return format !== 'mp3' && format !== 'aac';
  const found = nameFormat(sound) ?? (format === 'pcm' ? null : nameFrames(sound));
  return found !== null && found !== format;
}

/** By a signature that raw samples are very unlikely to contain. */
function nameFormat(sound: Buffer): SpeechFormat | null {
  const head = sound.toString('latin1', 0, 12);
  if (head.startsWith('RIFF') && head.endsWith('WAVE')) return 'wav';
  if (head.startsWith('OggS')) return 'opus';
  return head.startsWith('fLaC') ? 'flac' : null;
}

/** By the first frame: MP3 and AAC share the sync word, and AAC has no layer. */
function nameFrames(sound: Buffer): SpeechFormat | null {
  const [first, second] = sound;
  if (first !== 0xff || second === undefined || (second & MPEG_SYNC) !== MPEG_SYNC) return null;
  return (second & LAYER_BITS) === 0 ? 'aac' : 'mp3';
}
