/** Speech by Deepgram: `POST /v1/speak` (https://developers.deepgram.com/reference/text-to-speech/speak-request). */
import type { ProviderCall } from '../../contract/provider-call';
import type { SpeechFormat, SpeechProvider, SpeechRequest, SpeechStream } from '../../contract/speech';
import { NO_USAGE, type UsageVector } from '../../contract/usage';
import { AudioStream } from '../../kit/audio-stream';
import type { UpstreamHeaders } from '../../kit/upstream-errors';
import { unsupported } from '../../kit/unsupported';
import type { UpstreamHttp } from '../../kit/upstream-http';
import { toTotal } from '../../kit/usage';

/** https://developers.deepgram.com/docs/tts-media-output-settings */
const OUTPUTS: Readonly<Record<SpeechFormat, Readonly<Record<string, string>>>> = {
  mp3: { encoding: 'mp3' },
  opus: { encoding: 'opus', container: 'ogg' },
  aac: { encoding: 'aac' },
  flac: { encoding: 'flac' },
  wav: { encoding: 'linear16', container: 'wav', sample_rate: '24000' },
  pcm: { encoding: 'linear16', container: 'none', sample_rate: '24000' },
};
/**
 * The range of Aura-2, whose English and Spanish voices support speed:
 * https://developers.deepgram.com/docs/tts-voice-controls
 */
const SPEEDS = { least: 0.7, most: 1.5 };
const HAS_SPEED = /-(?:en|es)$/;

export class DeepgramSpeech implements SpeechProvider {
  constructor(private readonly http: Pick<UpstreamHttp, 'endpoint' | 'postForAudio'>) {}

  speak(request: SpeechRequest, call: ProviderCall): Promise<SpeechStream> {
    const target = this.http.endpoint('speak', toSpeakQuery(request, call));
    const body = JSON.stringify({ text: request.input });
    return AudioStream.openStream({ format: request.format, readUsage: readCharacters }, (receiver) =>
      this.http.postForAudio(target, body, call, receiver),
    );
  }
}

/**
 * Voices are models, such as `aura-2-thalia-en`. Pure.
 * @throws ProviderError `validation_failed` with `param`
 */
export function toSpeakQuery(request: SpeechRequest, { upstreamModel }: ProviderCall): Record<string, string> {
  const { voice, format, speed, instructions } = request;
  if (instructions !== null) throw unsupported('instructions');
  const query = { model: `${upstreamModel}-${voice}`, ...OUTPUTS[format] };
  if (speed === null || speed === 1) return query;
  if (!HAS_SPEED.test(voice)) throw unsupported('speed', 'This voice does not support speed.');
  if (speed < SPEEDS.least || speed > SPEEDS.most) {
    throw unsupported('speed', `This model supports a speed from ${SPEEDS.least} to ${SPEEDS.most}.`);
  }
  return { ...query, speed: String(speed) };
}

function readCharacters(headers: UpstreamHeaders): UsageVector | null {
  const characters = toTotal(Number(headers['dg-char-count']));
  return characters === null ? null : { ...NO_USAGE, characters };
}
