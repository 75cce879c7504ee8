/** Music by ElevenLabs (https://elevenlabs.io/docs/api-reference/music/compose). */
import type { JobCapabilities, JobSpec, MusicSpec, SyncJobAdapter } from '../../contract/media-job';
import type { ProviderCall } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import type { JsonObject } from '../../kit/json';
import {
  asMusic,
  assertPlainMp3,
  type ComposedMusic,
  composed,
  refusal,
  WITHIN_ONE_REQUEST,
} from '../../kit/music-jobs';
import type { UpstreamHttp } from '../../kit/upstream-http';
import { billed, contentRefused, toCount } from '../../kit/video-jobs';
import { WholeReply } from '../../kit/reply-receiver';

/** A format that every plan includes. */
const OUTPUT_FORMAT = 'mp3_44100_128';
/** The prompt names a musician, quotes lyrics or is harmful: https://elevenlabs.io/docs/cookbooks/music/quickstart */
const REFUSED_PROMPT = 'bad_prompt';

export class ElevenLabsMusic implements SyncJobAdapter {
  readonly mode = 'sync';
  readonly capabilities: JobCapabilities = WITHIN_ONE_REQUEST;
  private readonly target: string;

  constructor(private readonly http: Pick<UpstreamHttp, 'endpoint' | 'postForAudio'>) {
    this.target = http.endpoint('music', { output_format: OUTPUT_FORMAT });
  }

  assertSupported(spec: JobSpec): void {
    toMusicBody(asMusic(spec), '');
  }

  async make(spec: JobSpec, call: ProviderCall): Promise<ComposedMusic> {
    const body = JSON.stringify(toMusicBody(asMusic(spec), call.upstreamModel));
    const { bytes, credits } = await this.compose(body, call).catch(refused);
    return composed(bytes, billed({ units: credits }));
  }

  private compose(body: string, call: ProviderCall): Promise<{ readonly bytes: Buffer; readonly credits?: number }> {
    return new Promise((resolve, reject) => {
      let credits: number | undefined;
      const reply = new WholeReply((bytes) => resolve({ bytes, credits }), reject);
      this.http.postForAudio(this.target, body, call, {
        onHeaders: (headers) => (credits = toCount(headers['character-cost'])),
        onData: (chunk) => reply.onData(chunk),
        onEnd: () => reply.onEnd(),
        onFailure: (error) => reply.onFailure(error),
      });
    });
  }
}

function refused(error: unknown): never {
  if (error instanceof ProviderError && error.options.upstream?.code === REFUSED_PROMPT) {
    throw contentRefused(error.options);
  }
  return refusal(error);
}

function toMusicBody(spec: MusicSpec, model: string): JsonObject {
  assertPlainMp3(spec);
  const { prompt, durationSeconds, instrumental } = spec;
  return {
    prompt,
    music_length_ms: durationSeconds * 1_000,
    model_id: model,
    // Without this field the prompt decides whether there are vocals.
    ...(instrumental && { force_instrumental: true }),
  };
}
