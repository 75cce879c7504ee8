/**
 * Music by Stability AI (https://platform.stability.ai/docs/api-reference#tag/Stable-Audio-2): a form even without a
 * file. Only MP3 is offered: three minutes of WAV in base64 exceed the largest reply that the gateway reads.
 */
import type { JobCapabilities, JobSpec, MusicSpec, SyncJobAdapter } from '../../contract/media-job';
import type { ProviderCall } from '../../contract/provider-call';
import { parseJsonObject } from '../../kit/json';
import { MultipartBody } from '../../kit/multipart-body';
import {
  asMusic,
  assertPlainMp3,
  type ComposedMusic,
  composed,
  notMusic,
  pieceOfBase64,
  refusal,
  WITHIN_ONE_REQUEST,
} from '../../kit/music-jobs';
import type { UpstreamHttp } from '../../kit/upstream-http';
import { contentRefused } from '../../kit/video-jobs';

export class StabilityMusic implements SyncJobAdapter {
  readonly mode = 'sync';
  readonly capabilities: JobCapabilities = WITHIN_ONE_REQUEST;
  private readonly target: string;

  constructor(private readonly http: Pick<UpstreamHttp, 'endpoint' | 'post'>) {
    this.target = http.endpoint('audio/stable-audio-2/text-to-audio');
  }

  assertSupported(spec: JobSpec): void {
    assertPlainMp3(asMusic(spec));
  }

  async make(spec: JobSpec, call: ProviderCall): Promise<ComposedMusic> {
    const form = toMusicForm(asMusic(spec), call.upstreamModel);
    return fromComposition(await this.http.post(this.target, form, call).catch(refusal));
  }
}

/** The models do not sing, so `instrumental` needs no field. */
function toMusicForm(spec: MusicSpec, model: string): MultipartBody {
  assertPlainMp3(spec);
  return new MultipartBody([
    { name: 'prompt', value: spec.prompt },
    { name: 'model', value: model },
    { name: 'duration', value: String(spec.durationSeconds) },
    { name: 'output_format', value: 'mp3' },
  ]);
}

function fromComposition(body: Buffer): ComposedMusic {
  const reply = parseJsonObject(body);
  if (reply === null) throw notMusic();
  if (reply['finish_reason'] === 'CONTENT_FILTERED') throw contentRefused({ phase: 'first_token', fallback: false });
  return composed(pieceOfBase64(reply['audio']), null);
}
