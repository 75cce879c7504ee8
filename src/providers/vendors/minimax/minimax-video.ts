import type { ImageFile } from '../../contract/images';
import type { JobCapabilities, JobHandle, JobSnapshot, JobSpec, VideoSpec } from '../../contract/media-job';
import type { ProviderCall } from '../../contract/provider-call';
import { isJsonObject, type JsonObject } from '../../kit/json';
import { toDataUrl } from '../../kit/data-url';
import {
  asVideo,
  billed,
  canceledJob,
  expiredJob,
  failedJob,
  fetchJob,
  segment,
  type SubmissionCall,
  submitJob,
  toCount,
  toHandle,
  unreadable,
  UNSENT,
  unsupportedTogether,
  videoAt,
  VideoJobs,
} from '../../kit/video-jobs';
import { isSensitive } from './minimax-replies';

/** Required for text without images (https://novita.ai/docs/api-reference/model-apis-minimax-h3). */
const DEFAULT_RATIO = '16:9';
/**
 * Each image beyond these is billed separately
 * (https://docs.laozhang.ai/en/api-capabilities/minimax-h3-video-generation).
 */
const FREE_IMAGES = 5;

/**
 * Videos of MiniMax H3 (https://platform.minimax.io/docs/api-reference/video-generation-v2-create). Its paths begin
 * with `/v2`, although the base URL ends in `/v1`. Videos have sound.
 */
export class MiniMaxVideo extends VideoJobs {
  readonly capabilities: JobCapabilities = {
    cancel: 'never',
    progress: false,
    idempotentSubmit: false,
    // Each poll within seven days returns a new URL:
    // https://platform.minimax.io/docs/api-reference/video-generation-v2-query
    outputTtlSeconds: 43_200,
    pollMs: [10_000, 30_000],
  };

  assertSupported(spec: JobSpec): void {
    toMiniMaxRequest(asVideo(spec), UNSENT);
  }

  async submit(spec: JobSpec, _token: string, call: ProviderCall): Promise<JobHandle> {
    const body = JSON.stringify(toMiniMaxRequest(asVideo(spec), call));
    const reply = await submitJob(this.http, this.http.endpoint('../v2/video_generation'), body, call);
    return toHandle(this.provider, reply['task_id'], call);
  }

  async poll({ id }: JobHandle, call: ProviderCall): Promise<JobSnapshot> {
    const endpoint = this.http.endpoint(`../v2/query/video_generation/${segment(id)}`);
    const { task } = await fetchJob(this.http, endpoint, call);
    if (!isJsonObject(task)) throw unreadable();
    return toSnapshot(task);
  }
}

function toMiniMaxRequest(spec: VideoSpec, { upstreamModel: model, callbackUrl }: SubmissionCall): JsonObject {
  const { prompt, durationSeconds, resolution, aspectRatio, firstFrame, lastFrame, references } = spec;
  assertTogether(spec);
  const hasFrame = firstFrame !== null;
  const images = [
    ...(firstFrame === null ? [] : [toContent(firstFrame, 'first_frame')]),
    ...(lastFrame === null ? [] : [toContent(lastFrame, 'last_frame')]),
    ...references.map((image) => toContent(image, 'reference_image')),
  ];
  return {
    model,
    content: [{ type: 'text', text: prompt }, ...images],
    // MiniMax writes labels in upper case.
    ...(resolution !== null && { resolution: resolution.toUpperCase() }),
    duration: durationSeconds,
    // A first frame determines the ratio.
    ...(!hasFrame && { ratio: aspectRatio ?? DEFAULT_RATIO }),
    ...(callbackUrl !== undefined && { callback_url: callbackUrl }),
  };
}

function assertTogether({ aspectRatio, firstFrame, lastFrame, references }: VideoSpec): void {
  if (lastFrame !== null && firstFrame === null) {
    throw unsupportedTogether('The model takes an end_image_url only with an image_url.', 'end_image_url');
  }
  if (references.length > 0 && firstFrame !== null) {
    throw unsupportedTogether('The model takes either input_images or an image_url.', 'input_images');
  }
  if (firstFrame !== null && aspectRatio !== null) {
    throw unsupportedTogether('The video always has the aspect ratio of image_url.', 'aspect_ratio');
  }
  if (references.length > FREE_IMAGES) {
    throw unsupportedTogether(`The gateway sends this model at most ${FREE_IMAGES} images.`, 'input_images');
  }
}

function toContent(image: ImageFile, role: string): JsonObject {
  return { type: 'image_url', image_url: { url: toDataUrl(image) }, role };
}

function toSnapshot({ status, content, usage, duration, error }: JsonObject): JobSnapshot {
  switch (status) {
    case 'succeeded': {
      const seconds = toCount(isJsonObject(usage) ? usage['output_seconds'] : undefined) ?? toCount(duration);
      return videoAt(isJsonObject(content) ? content['url'] : undefined, billed({ seconds }));
    }
    case 'failed':
      return toFailure(isJsonObject(error) ? error : {});
    case 'cancelled':
      return canceledJob();
    case 'expired':
      return expiredJob();
    case 'running':
      return { state: 'running', progress: null };
    default:
      return { state: 'queued', progress: null };
  }
}

function toFailure({ code, type }: JsonObject): JobSnapshot {
  return failedJob([code, type], isSensitive(code));
}
