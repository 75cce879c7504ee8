import type { ProviderCall } from '../../contract/provider-call';
import type { SpeechRequest } from '../../contract/speech';
import type { JsonObject } from '../../kit/json-object';

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
