/**
 * Speech by MiniMax (https://platform.minimax.io/docs/api-reference/speech-t2a-http): events with audio in hexadecimal.
 * WAV comes only without streaming (`speech-t2a-http`, `audio_setting.format`).
 */
import type { ProviderCall } from '../../contract/provider-call';
import type { SpeechFormat, SpeechProvider, SpeechRequest, SpeechStream } from '../../contract/speech';
import { NO_USAGE } from '../../contract/usage';
import { contradictsFormat } from '../../kit/audio-stream';
import { isJsonObject, type JsonObject } from '../../kit/json';
import { type SpeechEventReader, SpeechEvents, type SpeechOutput } from '../../kit/speech-events';
import { unsupported } from '../../kit/unsupported';
import type { UpstreamHttp } from '../../kit/upstream-http';
import { toCount } from '../../kit/video-jobs';
import { asMiniMaxFault, assertAccepted, decodeHex } from './minimax-replies';

const SAMPLE_RATE = 24_000;
const BITS_PER_SECOND = 128_000;
const SPEEDS = { least: 0.5, most: 2 };
const FORMATS: ReadonlySet<SpeechFormat> = new Set(['mp3', 'flac', 'pcm']);

/**
 * The `data.status` of the last event, which repeats the whole audio
 * (https://github.com/MiniMax-AI/MiniMax-01/issues/53).
 */
const COMPLETE = 2;

export class MiniMaxSpeech implements SpeechProvider {
  private readonly target: string;

  constructor(private readonly http: Pick<UpstreamHttp, 'endpoint' | 'postForStream'>) {
    this.target = http.endpoint('t2a_v2');
  }

  async speak(request: SpeechRequest, call: ProviderCall): Promise<SpeechStream> {
    const body = JSON.stringify(toSpeechBody(request, call));
    const opening = SpeechEvents.openStream(new MiniMaxSpeechReader(request.format), (receiver) =>
      this.http.postForStream(this.target, body, call, receiver),
    );
    return opening.catch((error: unknown) => {
      throw asMiniMaxFault(error);
    });
  }
}

/** @throws ProviderError `validation_failed` with `param` */
function toSpeechBody(request: SpeechRequest, { upstreamModel }: ProviderCall): JsonObject {
  const { input, voice, format, speed, instructions } = request;
  if (!FORMATS.has(format)) throw unsupported('response_format');
  if (instructions !== null) throw unsupported('instructions');
  if (speed !== null && (speed < SPEEDS.least || speed > SPEEDS.most)) {
    throw unsupported('speed', `This model supports a speed from ${SPEEDS.least} to ${SPEEDS.most}.`);
  }
  return {
    model: upstreamModel,
    text: input,
    stream: true,
    stream_options: { exclude_aggregated_audio: true },
    output_format: 'hex',
    voice_setting: { voice_id: voice, ...(speed !== null && { speed }) },
    audio_setting: { sample_rate: SAMPLE_RATE, bitrate: BITS_PER_SECOND, format, channel: 1 },
  };
}

class MiniMaxSpeechReader implements SpeechEventReader {
  private isComplete = false;

  constructor(private readonly format: SpeechFormat) {}

  read(event: JsonObject, output: SpeechOutput): void {
    assertAccepted(event, output.phase, 'speech');
    const { data, extra_info: facts } = event;
    if (isJsonObject(data)) this.readAudio(data, output);
    // Chinese characters count twice (https://platform.minimax.io/docs/guides/pricing-paygo).
    const units = toCount(isJsonObject(facts) ? facts['usage_characters'] : undefined);
    if (units !== undefined) output.report({ ...NO_USAGE, units });
  }

  conclude(): boolean {
    return this.isComplete;
  }

  private readAudio({ audio, status }: JsonObject, output: SpeechOutput): void {
    if (status === COMPLETE) this.isComplete = true;
    if (audio === undefined || audio === '' || (this.isComplete && output.phase === 'stream')) return;
    const piece = decodeHex(audio);
    if (piece === null) throw output.failure('audio that could not be read');
    if (output.phase !== 'stream' && contradictsFormat(this.format, piece)) {
      throw output.failure('audio in a format other than the one requested');
    }
    output.write(piece);
  }
}
