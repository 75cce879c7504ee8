/**
 * Music by MiniMax (https://platform.minimax.io/docs/api-reference/music-generation). The reply is the piece, in
 * hexadecimal. There is no field for the duration, which follows from the lyrics: the result has the one it was given, and
 * the price is per song.
 */
import type { JobCapabilities, JobSpec, MusicSpec, SyncJobAdapter } from '../../contract/media-job';
import type { ProviderCall } from '../../contract/provider-call';
import { ProviderError, type ProviderErrorOptions } from '../../contract/provider-error';
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
import { billed, contentRefused, toCount } from '../../kit/video-jobs';

const SAMPLE_RATE = 44_100;
const BITS_PER_SECOND = 256_000;
const HEXADECIMAL = /^(?:[\da-f]{2})+$/i;

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
    // Lyrics are required otherwise.
    ...(instrumental ? { is_instrumental: true } : { lyrics_optimizer: true }),
    output_format: 'hex',
    audio_setting: { sample_rate: SAMPLE_RATE, bitrate: BITS_PER_SECOND, format: 'mp3' },
  };
}

function fromComposition(body: Buffer): ComposedMusic {
  const { base_resp: base, data, extra_info: facts } = parseJsonObject(body) ?? {};
  const code = isJsonObject(base) ? base['status_code'] : undefined;
  if (typeof code === 'number' && code !== 0) throw miniMaxFault(code);
  const audio = isJsonObject(data) ? data['audio'] : undefined;
  if (typeof audio !== 'string' || !HEXADECIMAL.test(audio)) throw notMusic();
  const lengthMs = toCount(isJsonObject(facts) ? facts['music_duration'] : undefined);
  return composed(Buffer.from(audio, 'hex'), lengthMs === undefined ? null : billed({ seconds: lengthMs / 1_000 }));
}

/** A refusal comes with status 200: https://platform.minimax.io/docs/api-reference/errorcode */
function miniMaxFault(code: number): ProviderError {
  const refused = (status: number): ProviderErrorOptions => ({
    phase: 'first_token',
    fallback: true,
    upstream: { status, code: String(code) },
  });
  switch (code) {
    case 1002:
    case 1039:
    case 2045:
      return new ProviderError('provider_rate_limited', 'The provider is limiting the rate of requests.', refused(429));
    case 1004:
    case 1008:
    case 2049:
    case 2056: {
      const message = 'The provider refused the gateway’s account.';
      return new ProviderError('provider_error', message, { ...refused(401), credentialRefused: true });
    }
    case 1026:
    case 1027:
      return contentRefused(refused(400));
    case 2013: {
      const message = 'The provider refused the request as invalid.';
      return new ProviderError('validation_failed', message, { ...refused(400), fallback: false });
    }
    default:
      return new ProviderError('provider_error', 'The provider failed to make the result.', {
        phase: 'first_token',
        fallback: false,
        outcomeUnknown: true,
        upstream: { code: String(code) },
      });
  }
}
