/**
 * Music by Lyria (https://ai.google.dev/gemini-api/docs/music-generation). The reply is the piece, as MP3: the models
 * refuse any choice of format (https://pkg.go.dev/github.com/shouni/lyria-rest). They have no field for the duration
 * either: Lyria 3 Clip always makes 30 seconds, and Lyria 3.5 follows the prompt, so a piece may be shorter or longer
 * than requested. The price is per piece.
 */
import type { JobCapabilities, JobSpec, MusicSpec, SyncJobAdapter } from '../../contract/media-job';
import type { ProviderCall } from '../../contract/provider-call';
import { type JsonObject, parseJsonObject } from '../../kit/json';
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
import { contentOf } from './interactions';

/** The documentation says to ask for instrumental pieces in the prompt, as for a duration. */
const INSTRUMENTAL = 'Instrumental only, no vocals.';

export class LyriaMusic implements SyncJobAdapter {
  readonly mode = 'sync';
  readonly capabilities: JobCapabilities = WITHIN_ONE_REQUEST;
  private readonly target: string;

  constructor(private readonly http: Pick<UpstreamHttp, 'endpoint' | 'post'>) {
    this.target = http.endpoint('interactions');
  }

  assertSupported(spec: JobSpec): void {
    assertPlainMp3(asMusic(spec));
  }

  async make(spec: JobSpec, call: ProviderCall): Promise<ComposedMusic> {
    const body = JSON.stringify(toInteraction(asMusic(spec), call.upstreamModel));
    const interaction = parseJsonObject(await this.http.post(this.target, body, call).catch(refusal));
    if (interaction === null) throw notMusic();
    const audio = contentOf(interaction, 'audio');
    if (audio === null && isRefusal(interaction)) throw contentRefused({ phase: 'first_token', fallback: false });
    return composed(pieceOfBase64(audio?.['data']), null);
  }
}

/** A refusal by moderation completes with text instead of audio, as for videos. Text beside audio is the lyrics. */
function isRefusal(interaction: JsonObject): boolean {
  return interaction['status'] === 'completed' && contentOf(interaction, 'text') !== null;
}

function toInteraction(spec: MusicSpec, model: string): JsonObject {
  assertPlainMp3(spec);
  const { prompt, durationSeconds, instrumental } = spec;
  const hints = [`Duration: ${durationSeconds} seconds.`, ...(instrumental ? [INSTRUMENTAL] : [])];
  return { model, input: `${prompt}\n\n${hints.join(' ')}` };
}
