/** Speech by ElevenLabs (https://elevenlabs.io/docs/api-reference/text-to-speech/stream). */
import type { ProviderCall } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import type { SpeechFormat, SpeechProvider, SpeechRequest, SpeechStream } from '../../contract/speech';
import { NO_USAGE, type UsageVector } from '../../contract/usage';
import { AudioStream } from '../../kit/audio-stream';
import type { JsonObject } from '../../kit/json';
import { unknownVoice, unsupported } from '../../kit/unsupported';
import type { UpstreamHeaders } from '../../kit/upstream-errors';
import type { UpstreamHttp } from '../../kit/upstream-http';

/** ElevenLabs' names for the formats that every plan includes. Opus comes in Ogg. */
const OUTPUTS: Readonly<Partial<Record<SpeechFormat, string>>> = {
  mp3: 'mp3_44100_128',
  opus: 'opus_48000_64',
  pcm: 'pcm_24000',
};
/** https://elevenlabs.io/docs/api-reference/voices/settings/get */
const SPEEDS = { least: 0.7, most: 1.2 };

export class ElevenLabsSpeech implements SpeechProvider {
  constructor(private readonly http: Pick<UpstreamHttp, 'endpoint' | 'postForAudio'>) {}

  async speak(request: SpeechRequest, call: ProviderCall): Promise<SpeechStream> {
    const body = JSON.stringify(toSpeechBody(request, call));
    const output = OUTPUTS[request.format];
    if (output === undefined) throw unsupported('response_format');
    const path = `text-to-speech/${encodeURIComponent(request.voice)}/stream`;
    const target = this.http.endpoint(path, { output_format: output });
    const opening = AudioStream.openStream({ format: request.format, readUsage: readCredits }, (receiver) =>
      this.http.postForAudio(target, body, call, receiver),
    );
    return opening.catch(blameVoice);
  }
}

/** An unknown voice is a 404: it is part of the path (https://github.com/elevenlabs/elevenlabs-docs/pull/1317). */
function blameVoice(error: unknown): never {
  if (!(error instanceof ProviderError) || error.options.upstream?.code !== 'voice_not_found') throw error;
  throw unknownVoice(error.options);
}

/** The charge in credits: half a credit per character for fast models, several credits for some voices. */
function readCredits(headers: UpstreamHeaders): UsageVector | null {
  const units = Number(headers['character-cost']);
  return units > 0 ? { ...NO_USAGE, units } : null;
}

/** Pure. @throws ProviderError `validation_failed` with `param` */
export function toSpeechBody(request: SpeechRequest, { upstreamModel }: ProviderCall): JsonObject {
  const { input, speed, instructions } = request;
  if (instructions !== null) throw unsupported('instructions');
  if (speed !== null && (speed < SPEEDS.least || speed > SPEEDS.most)) {
    throw unsupported('speed', `This model supports a speed from ${SPEEDS.least} to ${SPEEDS.most}.`);
  }
  return { text: input, model_id: upstreamModel, ...(speed !== null && { voice_settings: { speed } }) };
}
