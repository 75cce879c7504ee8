import type { ProviderCall } from '../../contract/provider-call';
import type { SpeechFormat, SpeechRequest } from '../../contract/speech';
import type { JsonObject } from '../../kit/json';
import { unsupported } from '../../kit/unsupported';

const OUTPUTS: Readonly<Partial<Record<SpeechFormat, JsonObject>>> = {
  mp3: { response_format: 'mp3' },
  wav: { response_format: 'wav' },
  pcm: { response_format: 'raw', response_encoding: 'pcm_s16le', sample_rate: 24_000 },
};

/**
 * The body of Together's `audio/speech`, which differs from OpenAI's in its formats: raw samples are 32-bit floats at
 * 44.1 kHz unless asked for
 * (https://github.com/togethercomputer/together-typescript/blob/main/src/resources/audio/speech.ts). Pure.
 * @throws ProviderError `validation_failed` with `param`
 */
export function toTogetherSpeech(request: SpeechRequest, { upstreamModel }: ProviderCall): JsonObject {
  const { input, voice, format, speed, instructions } = request;
  const { [format]: output } = OUTPUTS;
  if (output === undefined) throw unsupported('response_format');
  if (speed !== null && speed !== 1) throw unsupported('speed');
  if (instructions !== null) throw unsupported('instructions');
  return { model: upstreamModel, input, voice, ...output };
}
