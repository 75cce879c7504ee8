/**
 * Dialect `openai-media`, speech: `POST …/audio/speech`, which streams the audio as it is made. OpenAI reports tokens
 * only when it streams events instead of audio, so there is no usage here.
 */
import type { ProviderCall } from '../../contract/provider-call';
import type { SpeechProvider, SpeechRequest, SpeechStream } from '../../contract/speech';
import { AudioStream } from '../../kit/audio-stream';
import type { JsonObject } from '../../kit/json';
import type { UpstreamHttp } from '../../kit/upstream-http';

export class OpenAiSpeech implements SpeechProvider {
  private readonly endpoint: string;

  /** @param toBody for an upstream whose fields differ; may throw ProviderError */
  constructor(
    private readonly http: Pick<UpstreamHttp, 'endpoint' | 'postForAudio'>,
    private readonly toBody = toSpeechRequest,
  ) {
    this.endpoint = http.endpoint('audio/speech');
  }

  async speak(request: SpeechRequest, call: ProviderCall): Promise<SpeechStream> {
    const body = JSON.stringify(this.toBody(request, call));
    return AudioStream.openStream({ format: request.format }, (receiver) =>
      this.http.postForAudio(this.endpoint, body, call, receiver),
    );
  }
}

/** The body of `POST …/audio/speech`. Pure. Unset fields are omitted: many hosts know only the first four. */
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
