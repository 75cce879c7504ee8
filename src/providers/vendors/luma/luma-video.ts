import type { ImageFile } from '../../contract/images';
import type { JobCapabilities, JobHandle, JobSnapshot, JobSpec, VideoSpec } from '../../contract/media-job';
import type { ProviderCall } from '../../contract/provider-call';
import { NO_USAGE } from '../../contract/usage';
import { isJsonObject, type JsonObject } from '../../kit/json';
import {
  asVideo,
  failedJob,
  fetchJob,
  segment,
  submitJob,
  toHandle,
  unsupportedTogether,
  videoAt,
  VideoJobs,
} from '../../kit/video-jobs';

/** The only duration of a video with a first or last frame. */
const SECONDS_WITH_FRAMES = 5;

/**
 * Ray at the Luma Agents API (https://docs.agents.lumalabs.ai/guides/videos/generation/). It has no cancellation, no
 * progress and no webhooks. Videos are silent.
 */
export class LumaVideo extends VideoJobs {
  readonly capabilities: JobCapabilities = {
    cancel: 'never',
    progress: false,
    idempotentSubmit: false,
    // "Presigned URL (1hr expiry)":
    // https://github.com/lumalabs/luma-agents-typescript/blob/main/src/resources/generations.ts
    outputTtlSeconds: 3_600,
    pollMs: [5_000, 20_000],
  };

  assertSupported(spec: JobSpec): void {
    toLumaRequest(asVideo(spec), '');
  }

  async submit(spec: JobSpec, _token: string, call: ProviderCall): Promise<JobHandle> {
    const body = JSON.stringify(toLumaRequest(asVideo(spec), call.upstreamModel));
    const { id } = await submitJob(this.http, this.http.endpoint('generations'), body, call);
    return toHandle(this.provider, id, call);
  }

  async poll({ id }: JobHandle, call: ProviderCall): Promise<JobSnapshot> {
    return toSnapshot(await fetchJob(this.http, this.http.endpoint(`generations/${segment(id)}`), call));
  }
}

function toLumaRequest(spec: VideoSpec, model: string): JsonObject {
  const { prompt, durationSeconds, resolution, aspectRatio, firstFrame, lastFrame } = spec;
  if ((firstFrame !== null || lastFrame !== null) && durationSeconds !== SECONDS_WITH_FRAMES) {
    const message = 'The model supports this duration_seconds only without images.';
    throw unsupportedTogether(message, 'duration_seconds', [SECONDS_WITH_FRAMES]);
  }
  return {
    model,
    type: 'video',
    prompt,
    ...(aspectRatio !== null && { aspect_ratio: aspectRatio }),
    video: {
      ...(resolution !== null && { resolution }),
      duration: `${durationSeconds}s`,
      ...(firstFrame !== null && { start_frame: toImageReference(firstFrame) }),
      ...(lastFrame !== null && { end_frame: toImageReference(lastFrame) }),
    },
  };
}

function toImageReference({ bytes, contentType }: ImageFile): JsonObject {
  return { data: bytes.toString('base64'), media_type: contentType };
}

function toSnapshot({ state, output, failure_code: failureCode }: JsonObject): JobSnapshot {
  switch (state) {
    case 'completed': {
      const files: readonly unknown[] = Array.isArray(output) ? output : [];
      const video = files.find((file) => isJsonObject(file) && file['type'] === 'video');
      return videoAt(isJsonObject(video) ? video['url'] : undefined, NO_USAGE);
    }
    case 'failed':
      // `content_moderated`, `generation_failed`, `output_not_found`
      return failedJob([failureCode]);
    case 'processing':
      return { state: 'running', progress: null };
    default:
      return { state: 'queued', progress: null };
  }
}
