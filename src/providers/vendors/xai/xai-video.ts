import type { JobCapabilities, JobHandle, JobSnapshot, JobSpec, VideoSpec } from '../../contract/media-job';
import type { ProviderCall } from '../../contract/provider-call';
import { ProviderError, SUCCESS_WITHOUT_RESULT } from '../../contract/provider-error';
import { isJsonObject, type JsonObject, parseJsonObject } from '../../kit/json';
import { toDataUrl } from '../../kit/data-url';
import {
  asRefusal,
  asVideo,
  billed,
  expiredJob,
  failedJob,
  segment,
  submitJob,
  toCount,
  toHandle,
  toPercent,
  unreadable,
  unsupportedTogether,
  videoAt,
  VideoJobs,
} from '../../kit/video-jobs';

/** 10,000,000,000 ticks are 1 USD (https://docs.x.ai/developers/cost-tracking). */
const TICKS_PER_MICRO = 10_000;
/** Resolutions with a last frame or references (https://muapi.ai/playground/grok-imagine-video-1-5-image-to-video). */
const SMALL_RESOLUTIONS = ['480p', '720p'];
/** https://docs.x.ai/developers/model-capabilities/video/overview */
const MAX_REFERENCES = 14;

/**
 * Videos of Grok Imagine (https://docs.x.ai/developers/model-capabilities/video/generation). A request cannot be
 * canceled, and sending it twice makes two videos.
 */
export class XaiVideo extends VideoJobs {
  readonly capabilities: JobCapabilities = {
    cancel: 'never',
    progress: true,
    idempotentSubmit: false,
    // "Generated URLs are temporary", without a time: https://docs.x.ai/developers/model-capabilities/video
    outputTtlSeconds: 3_600,
    pollMs: [5_000, 15_000],
  };

  assertSupported(spec: JobSpec): void {
    toXaiRequest(asVideo(spec), '');
  }

  async submit(spec: JobSpec, _token: string, call: ProviderCall): Promise<JobHandle> {
    const body = JSON.stringify(toXaiRequest(asVideo(spec), call.upstreamModel));
    const reply = await submitJob(this.http, this.http.endpoint('videos/generations'), body, call);
    return toHandle(this.provider, reply['request_id'], call);
  }

  poll({ id }: JobHandle, call: ProviderCall): Promise<JobSnapshot> {
    return this.http.get(this.http.endpoint(`videos/${segment(id)}`), call).then(readReport, endIfModerated);
  }
}

function readReport(bytes: Buffer): JobSnapshot {
  // While the video is pending, xAI answers 202, with or without a document.
  if (bytes.length === 0) return { state: 'queued', progress: 0 };
  const job = parseJsonObject(bytes);
  if (job === null) throw unreadable();
  return toSnapshot(job);
}

/**
 * The snapshot of a video that moderation withholds: xAI refuses the poll itself, with `imagine:content-moderated`.
 * @throws the given error if it has another cause and so says nothing about the video
 */
function endIfModerated(error: unknown): JobSnapshot {
  if (!(error instanceof ProviderError) || asRefusal(error).options.details?.['reason'] !== 'content_filtered') {
    throw error;
  }
  return failedJob([error.options.upstream?.code], true);
}

function toXaiRequest(spec: VideoSpec, model: string): JsonObject {
  assertTogether(spec);
  const { prompt, durationSeconds, resolution, aspectRatio, audio, firstFrame, lastFrame, references } = spec;
  return {
    model,
    prompt,
    duration: durationSeconds,
    ...(resolution !== null && { resolution }),
    ...(aspectRatio !== null && { aspect_ratio: aspectRatio }),
    // Sound is the default, and older models refuse the field.
    ...(!audio && { generate_audio: false }),
    ...(firstFrame !== null && { image: { url: toDataUrl(firstFrame) } }),
    ...(lastFrame !== null && { last_frame: { url: toDataUrl(lastFrame) } }),
    ...(references.length > 0 && { reference_images: references.map((image) => ({ url: toDataUrl(image) })) }),
  };
}

function assertTogether({ resolution, aspectRatio, firstFrame, lastFrame, references }: VideoSpec): void {
  if (lastFrame !== null && firstFrame === null) {
    throw unsupportedTogether('The model takes an end_image_url only with an image_url.', 'end_image_url');
  }
  if (firstFrame !== null && aspectRatio !== null) {
    // xAI would ignore it (https://github.com/xai-org/xai-sdk-ts/blob/main/spec/openapi.json).
    throw unsupportedTogether('The video always has the aspect ratio of image_url.', 'aspect_ratio');
  }
  if (references.length > 0 && firstFrame !== null) {
    throw unsupportedTogether('The model takes either input_images or an image_url.', 'input_images');
  }
  if (references.length > MAX_REFERENCES) {
    throw unsupportedTogether(`The model takes at most ${MAX_REFERENCES} input_images.`, 'input_images');
  }
  const isSmall = resolution === null || SMALL_RESOLUTIONS.includes(resolution);
  if (!isSmall && (references.length > 0 || lastFrame !== null)) {
    const message = 'The model does not support this resolution with input_images or an end_image_url.';
    throw unsupportedTogether(message, 'resolution', SMALL_RESOLUTIONS);
  }
}

function toSnapshot({ status, progress, video, usage, error }: JsonObject): JobSnapshot {
  switch (status) {
    case 'done': {
      if (!isJsonObject(video)) return failedJob([SUCCESS_WITHOUT_RESULT]);
      if (video['respect_moderation'] === false) return failedJob(['respect_moderation']);
      const ticks = toCount(isJsonObject(usage) ? usage['cost_in_usd_ticks'] : undefined);
      const vendorCostMicro = ticks === undefined ? undefined : ticks / TICKS_PER_MICRO;
      return videoAt(video['url'], billed({ seconds: toCount(video['duration']), vendorCostMicro }));
    }
    case 'failed':
      return failedJob(isJsonObject(error) ? [error['code']] : []);
    case 'expired':
      return expiredJob();
    default:
      return { state: toPercent(progress) === null ? 'queued' : 'running', progress: toPercent(progress) };
  }
}
