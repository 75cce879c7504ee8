/**
 * Music by MiniMax (https://platform.minimax.io/docs/api-reference/music-generation). The reply is the piece, in
 * hexadecimal. There is no field for the duration, which follows from the lyrics: the result reports the actual
 * duration, and the price is per song.
 */
import type { JobCapabilities, JobSpec, MusicSpec, SyncJobAdapter } from '../../contract/media-job';
import type { ProviderCall } from '../../contract/provider-call';
import { isJsonObject, type JsonObject, parseJsonObject } from '../../kit/json';
import {
  asMusic,
  assertPlainMp3,
  type ComposedMusic,
  composed,
  notMusic,
  refusal,
  WITHIN_ONE_REQUEST,
} from '../../kit/music-jobs';
import type { UpstreamHttp } from '../../kit/upstream-http';
import { billed, toCount } from '../../kit/video-jobs';
import { assertAccepted, decodeHex } from './minimax-replies';

const SAMPLE_RATE = 44_100;
const BITS_PER_SECOND = 256_000;

export class MiniMaxMusic implements SyncJobAdapter {
  readonly mode = 'sync';
  readonly capabilities: JobCapabilities = WITHIN_ONE_REQUEST;
  private readonly target: string;

  constructor(private readonly http: Pick<UpstreamHttp, 'endpoint' | 'post'>) {
    this.target = http.endpoint('music_generation');
  }

  assertSupported(spec: JobSpec): void {
    assertPlainMp3(asMusic(spec));
  }

  async make(spec: JobSpec, call: ProviderCall): Promise<ComposedMusic> {
    const body = JSON.stringify(toMusicBody(asMusic(spec), call.upstreamModel));
    return fromComposition(await this.http.post(this.target, body, call).catch(refusal));
  }
}

function toMusicBody(spec: MusicSpec, model: string): JsonObject {
  assertPlainMp3(spec);
  const { prompt, instrumental } = spec;
  return {
    model,
    prompt,
    // Without either field MiniMax requires lyrics.
    ...(instrumental ? { is_instrumental: true } : { lyrics_optimizer: true }),
    output_format: 'hex',
    audio_setting: { sample_rate: SAMPLE_RATE, bitrate: BITS_PER_SECOND, format: 'mp3' },
  };
}

function fromComposition(body: Buffer): ComposedMusic {
  const reply = parseJsonObject(body) ?? {};
  assertAccepted(reply, 'first_token', 'music');
  const { data, extra_info: facts } = reply;
  const audio = isJsonObject(data) ? data['audio'] : undefined;
  const file = decodeHex(audio);
  if (file === null) throw notMusic();
  const lengthMs = toCount(isJsonObject(facts) ? facts['music_duration'] : undefined);
  return composed(file, lengthMs === undefined ? null : billed({ seconds: lengthMs / 1_000 }));
}
