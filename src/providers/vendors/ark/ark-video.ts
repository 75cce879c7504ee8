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
  UNSENT,
  unsupportedTogether,
  videoAt,
  VideoJobs,
} from '../../kit/video-jobs';

/** The limit of Seedance 2.0, the only model with references: https://replicate.com/bytedance/seedance-2.0 */
const MAX_REFERENCES = 9;

/**
 * Seedance at ByteDance Ark, also called ModelArk (https://docs.byteplus.com/en/docs/ModelArk/1520757). `DELETE`
 * cancels a queued task, but deletes a finished one.
 */
export class ArkVideo extends VideoJobs {
  readonly capabilities: JobCapabilities = {
    cancel: 'queued',
    progress: false,
    idempotentSubmit: false,
    // `content.video_url` is cleared after 24 hours: https://docs.byteplus.com/en/docs/ModelArk/1521309
    outputTtlSeconds: 86_400,
    pollMs: [10_000, 30_000],
  };

  assertSupported(spec: JobSpec): void {
    toArkRequest(asVideo(spec), UNSENT);
  }

  async submit(spec: JobSpec, _token: string, call: ProviderCall): Promise<JobHandle> {
    const body = JSON.stringify(toArkRequest(asVideo(spec), call));
    const { id } = await submitJob(this.http, this.http.endpoint('contents/generations/tasks'), body, call);
    return toHandle(this.provider, id, call);
  }

  async poll({ id }: JobHandle, call: ProviderCall): Promise<JobSnapshot> {
    return toSnapshot(await fetchJob(this.http, this.endpointOf(id), call));
  }

  async cancel(handle: JobHandle, call: ProviderCall): Promise<'canceled' | 'too-late'> {
    const { state } = await this.poll(handle, call);
    if (state === 'canceled') return 'canceled';
    if (state !== 'queued') return 'too-late';
    await this.http.delete(this.endpointOf(handle.id), call);
    return 'canceled';
  }

  private endpointOf(id: string): string {
    return this.http.endpoint(`contents/generations/tasks/${segment(id)}`);
  }
}

function toArkRequest(spec: VideoSpec, { upstreamModel: model, callbackUrl }: SubmissionCall): JsonObject {
  const { prompt, durationSeconds, resolution, aspectRatio, audio, firstFrame, lastFrame, references } = spec;
  if (lastFrame !== null && firstFrame === null) {
    throw unsupportedTogether('The model takes an end_image_url only with an image_url.', 'end_image_url');
  }
  if (references.length > 0 && firstFrame !== null) {
    throw unsupportedTogether('The model takes either input_images or an image_url.', 'input_images');
  }
  if (references.length > MAX_REFERENCES) {
    throw unsupportedTogether(`The model takes at most ${MAX_REFERENCES} input_images.`, 'input_images');
  }
  return {
    model,
    content: [
      { type: 'text', text: prompt },
      ...(firstFrame === null ? [] : [toContent(firstFrame, 'first_frame')]),
      ...(lastFrame === null ? [] : [toContent(lastFrame, 'last_frame')]),
      ...references.map((image) => toContent(image, 'reference_image')),
    ],
    ...(resolution !== null && { resolution }),
    ...(aspectRatio !== null && { ratio: aspectRatio }),
    duration: durationSeconds,
    // Always sent, because Ark's default is true.
    generate_audio: audio,
    ...(callbackUrl !== undefined && { callback_url: callbackUrl }),
  };
}

function toContent(image: ImageFile, role: string): JsonObject {
  return { type: 'image_url', image_url: { url: toDataUrl(image) }, role };
}

function toSnapshot({ status, content, usage, error }: JsonObject): JobSnapshot {
  switch (status) {
    case 'succeeded': {
      // Ark bills tokens; a unit in the catalogue is 1,000 tokens.
      const tokens = toCount(isJsonObject(usage) ? usage['completion_tokens'] : undefined);
      const bill = billed({ units: tokens === undefined ? undefined : tokens / 1_000 });
      return videoAt(isJsonObject(content) ? content['video_url'] : undefined, bill);
    }
    case 'failed':
      // For example `OutputVideoSensitiveContentDetected`: https://docs.byteplus.com/en/docs/ModelArk/1299023
      return failedJob(isJsonObject(error) ? [error['code']] : []);
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
