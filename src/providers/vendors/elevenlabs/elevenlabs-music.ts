/** Music by ElevenLabs (https://elevenlabs.io/docs/api-reference/music/compose). */
import type { JobCapabilities, JobSnapshot, JobSpec, MusicSpec, SyncJobAdapter } from '../../contract/media-job';
import type { ProviderCall } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import type { JsonObject } from '../../kit/json';
import { unsupported } from '../../kit/unsupported';
import type { UpstreamHttp } from '../../kit/upstream-http';
import { asRefusal, billed, toCount } from '../../kit/video-jobs';
import { WholeReply } from '../../kit/whole-reply';

/** Every plan has it. */
const OUTPUT_FORMAT = 'mp3_44100_128';

/** The piece is the reply: nothing is left to ask for if it is lost, and composing it again costs again. */
export class ElevenLabsMusic implements SyncJobAdapter {
  readonly mode = 'sync';
  readonly capabilities: JobCapabilities = {
    cancel: 'never',
    progress: false,
    idempotentSubmit: false,
    outputTtlSeconds: 3_600,
    pollMs: [1_000, 1_000],
  };
  private readonly target: string;

  constructor(private readonly http: Pick<UpstreamHttp, 'endpoint' | 'postForAudio'>) {
    this.target = http.endpoint('music', { output_format: OUTPUT_FORMAT });
  }

  assertSupported(spec: JobSpec): void {
    toMusicBody(asMusic(spec), '');
  }

  async make(spec: JobSpec, call: ProviderCall): Promise<Extract<JobSnapshot, { readonly state: 'succeeded' }>> {
    const body = JSON.stringify(toMusicBody(asMusic(spec), call.upstreamModel));
    try {
      const { bytes, credits } = await this.compose(body, call);
      const usage = billed({ units: credits });
      return { state: 'succeeded', outputs: [{ type: 'audio', url: null, bytes }], usage };
    } catch (error) {
      throw error instanceof ProviderError ? asRefusal(error) : error;
    }
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

function asMusic(spec: JobSpec): MusicSpec {
  if (spec.kind === 'music') return spec;
  throw unsupported('model');
}

function toMusicBody(spec: MusicSpec, model: string): JsonObject {
  const { prompt, durationSeconds, format, sampleRate, instrumental } = spec;
  if (format !== null && format !== 'mp3') throw unsupported('format');
  if (sampleRate !== null) throw unsupported('sample_rate');
  return {
    prompt,
    music_length_ms: durationSeconds * 1_000,
    model_id: model,
    // Without it the prompt decides.
    ...(instrumental && { force_instrumental: true }),
  };
}
