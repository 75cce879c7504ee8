/**
 * Speech by Together AI: OpenAI's endpoint with other formats, whose raw samples are 32-bit floats at 44.1 kHz unless
 * asked for (https://github.com/togethercomputer/together-typescript/blob/main/src/resources/audio/speech.ts).
 */
import type { ProviderCall } from '../../contract/provider-call';
import type { SpeechFormat, SpeechProvider, SpeechRequest, SpeechStream } from '../../contract/speech';
import { AudioStream } from '../../kit/audio-stream';
import type { JsonObject } from '../../kit/json';
import { unsupported } from '../../kit/unsupported';
import type { UpstreamHttp } from '../../kit/upstream-http';

const OUTPUTS: Readonly<Partial<Record<SpeechFormat, JsonObject>>> = {
  mp3: { response_format: 'mp3' },
  wav: { response_format: 'wav' },
  pcm: { response_format: 'raw', response_encoding: 'pcm_s16le', sample_rate: 24_000 },
};

export class TogetherSpeech implements SpeechProvider {
  private readonly endpoint: string;

  constructor(private readonly http: Pick<UpstreamHttp, 'endpoint' | 'postForAudio'>) {
    this.endpoint = http.endpoint('audio/speech');
  }

  async speak(request: SpeechRequest, call: ProviderCall): Promise<SpeechStream> {
    const body = JSON.stringify(toTogetherSpeech(request, call));
    return AudioStream.openStream({ format: request.format }, (receiver) =>
      this.http.postForAudio(this.endpoint, body, call, receiver),
    );
  }
}

/** @throws ProviderError `validation_failed` with `param` */
function toTogetherSpeech(request: SpeechRequest, { upstreamModel }: ProviderCall): JsonObject {
  const { input, voice, format, speed, instructions } = request;
  const { [format]: output } = OUTPUTS;
  if (output === undefined) throw unsupported('response_format');
  if (speed !== null && speed !== 1) throw unsupported('speed');
  if (instructions !== null) throw unsupported('instructions');
  return { model: upstreamModel, input, voice, ...output };
}
