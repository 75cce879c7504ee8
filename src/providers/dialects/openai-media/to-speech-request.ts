import type { ProviderCall } from '../../contract/provider-call';
import type { SpeechRequest } from '../../contract/speech';
import type { JsonObject } from '../../kit/json-object';

/** The body of `POST …/audio/speech`. Pure. What was not asked for is left out: many hosts know the first four fields only. */
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
