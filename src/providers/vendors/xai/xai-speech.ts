/**
 * Speech by xAI (https://docs.x.ai/developers/model-capabilities/audio/text-to-speech), which has one model without a
 * name.
 */
import type { SpeechFormat, SpeechProvider, SpeechRequest, SpeechStream } from '../../contract/speech';
import type { ProviderCall } from '../../contract/provider-call';
import { AudioStream } from '../../kit/audio-stream';
import type { JsonObject } from '../../kit/json';
import { unsupported } from '../../kit/unsupported';
import type { UpstreamHttp } from '../../kit/upstream-http';

const FORMATS: ReadonlySet<SpeechFormat> = new Set(['mp3', 'wav', 'pcm']);
const SAMPLE_RATE = 24_000;
const SPEEDS = { least: 0.7, most: 1.5 };

export class XaiSpeech implements SpeechProvider {
  private readonly endpoint: string;

  constructor(private readonly http: Pick<UpstreamHttp, 'endpoint' | 'postForAudio'>) {
    this.endpoint = http.endpoint('tts');
  }

  async speak(request: SpeechRequest, call: ProviderCall): Promise<SpeechStream> {
    const body = JSON.stringify(toXaiSpeech(request));
    return AudioStream.openStream({ format: request.format }, (receiver) =>
      this.http.postForAudio(this.endpoint, body, call, receiver),
    );
  }
}

/** Pure. @throws ProviderError `validation_failed` with `param` */
export function toXaiSpeech({ input, voice, format, speed, instructions }: SpeechRequest): JsonObject {
  if (!FORMATS.has(format)) throw unsupported('response_format');
  if (instructions !== null) throw unsupported('instructions');
  if (speed !== null && (speed < SPEEDS.least || speed > SPEEDS.most)) {
    throw unsupported('speed', `This model supports a speed from ${SPEEDS.least} to ${SPEEDS.most}.`);
  }
  return {
    text: input,
    voice_id: voice,
    // Required: without it xAI answers 400.
    language: 'auto',
    output_format: { codec: format, sample_rate: SAMPLE_RATE },
    ...(speed !== null && { speed }),
  };
}
