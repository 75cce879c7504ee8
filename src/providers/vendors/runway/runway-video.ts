import type { ImageFile } from '../../contract/images';
import type { JobCapabilities, JobHandle, JobSnapshot, JobSpec, VideoSpec } from '../../contract/media-job';
import type { ProviderCall } from '../../contract/provider-call';
import { isJsonObject, type JsonObject } from '../../kit/json';
import { toDataUrl } from '../../kit/data-url';
import {
  asVideo,
  billed,
  canceledJob,
  failedJob,
  fetchJob,
  segment,
  submitJob,
  toCount,
  toHandle,
  toPercent,
  unsupportedTogether,
  videoAt,
  VideoJobs,
} from '../../kit/video-jobs';

/** `ratio` is in pixels: https://docs.dev.runwayml.com/api/#tag/Start-generating */
const RATIOS: Readonly<Record<string, string>> = {
  '16:9': '1280:720',
  '9:16': '720:1280',
  '4:3': '1104:832',
  '3:4': '832:1104',
  '1:1': '960:960',
  '21:9': '1584:672',
};
/** The ratios of videos without an input image. */
const TEXT_RATIOS: readonly string[] = ['16:9', '9:16'];
/** In UTF-16 code units, like `length` in JavaScript. */
const MAX_PROMPT_LENGTH = 1_000;
/** "Must be under 5MB (1024 × 1024 × 5 bytes)": https://docs.dev.runwayml.com/assets/inputs/ */
const MAX_DATA_URI_LENGTH = 5 * 1_048_576 - 1;

/**
 * Runway's own models (https://docs.dev.runwayml.com/api/), which make silent videos. A task that exceeds the account's
 * concurrency is accepted and waits as `THROTTLED` (https://docs.dev.runwayml.com/usage/tiers/).
 */
export class RunwayVideo extends VideoJobs {
  readonly capabilities: JobCapabilities = {
    cancel: 'always',
    progress: true,
    idempotentSubmit: false,
    // URLs are valid for 24 to 48 hours, and each poll returns a new one: https://docs.dev.runwayml.com/assets/outputs/
    outputTtlSeconds: 86_400,
    // "Should not expect updates more frequent than once every five seconds": the reference of GET /v1/tasks/{id}
    pollMs: [5_000, 15_000],
  };

  assertSupported(spec: JobSpec): void {
    toRunwayRequest(asVideo(spec), '');
  }

  async submit(spec: JobSpec, _token: string, call: ProviderCall): Promise<JobHandle> {
    const video = asVideo(spec);
    const body = JSON.stringify(toRunwayRequest(video, call.upstreamModel));
    const endpoint = this.http.endpoint(video.firstFrame === null ? 'text_to_video' : 'image_to_video');
    const { id } = await submitJob(this.http, endpoint, body, call);
    return toHandle(this.provider, id, call);
  }

  async poll({ id }: JobHandle, call: ProviderCall): Promise<JobSnapshot> {
    return toSnapshot(await fetchJob(this.http, this.endpointOf(id), call));
  }

  /** `DELETE` would delete a finished task with its result, so the state is read first. */
  async cancel(handle: JobHandle, call: ProviderCall): Promise<'canceled' | 'too-late'> {
    const { state } = await this.poll(handle, call);
    if (state === 'canceled') return 'canceled';
    if (state !== 'queued' && state !== 'running') return 'too-late';
    await this.http.delete(this.endpointOf(handle.id), call);
    return 'canceled';
  }

  private endpointOf(id: string): string {
    return this.http.endpoint(`tasks/${segment(id)}`);
  }
}

/** The request for Gen-4.5, which takes a first frame but no last frame. */
function toRunwayRequest(spec: VideoSpec, model: string): JsonObject {
  const { prompt, durationSeconds, firstFrame, lastFrame } = spec;
  if (prompt.length > MAX_PROMPT_LENGTH) {
    throw unsupportedTogether(`The model takes prompts of at most ${MAX_PROMPT_LENGTH} characters.`, 'prompt');
  }
  if (lastFrame !== null) throw unsupportedTogether('The model does not take a last frame.', 'end_image_url');
  return {
    model,
    promptText: prompt,
    ratio: ratioOf(spec),
    duration: durationSeconds,
    ...(firstFrame !== null && { promptImage: [{ uri: toDataUri(firstFrame), position: 'first' }] }),
  };
}

function toDataUri(image: ImageFile): string {
  const uri = toDataUrl(image);
  if (uri.length <= MAX_DATA_URI_LENGTH) return uri;
  throw unsupportedTogether('The model takes images of at most 3.7 MiB.', 'image_url');
}

function ratioOf(spec: VideoSpec): string {
  const wanted = spec.aspectRatio ?? '16:9';
  const supported = spec.firstFrame === null ? TEXT_RATIOS : Object.keys(RATIOS);
  const ratio = supported.includes(wanted) ? RATIOS[wanted] : undefined;
  if (ratio !== undefined) return ratio;
  throw unsupportedTogether(
    'The model does not support this aspect_ratio for this request.',
    'aspect_ratio',
    supported,
  );
}

function toSnapshot({ status, progress, output, cost, failureCode }: JsonObject): JobSnapshot {
  switch (status) {
    case 'SUCCEEDED': {
      const urls: readonly unknown[] = Array.isArray(output) ? output : [];
      return videoAt(urls[0], billed({ units: toCount(isJsonObject(cost) ? cost['credits'] : undefined) }));
    }
    case 'FAILED':
      // `SAFETY.…` is moderation: https://docs.dev.runwayml.com/errors/task-failures/
      return failedJob([failureCode]);
    case 'CANCELLED':
      return canceledJob();
    case 'RUNNING':
      return { state: 'running', progress: toPercent(progress, 1) ?? 0 };
    default:
      return { state: 'queued', progress: 0 };
  }
}
