import { shiftDecimal } from '../../../core/types/decimal';
import type { ImageFile } from '../../contract/images';
import type {
  AsyncJobAdapter,
  DownloadCredential,
  JobCapabilities,
  JobHandle,
  JobSnapshot,
  JobSpec,
  VideoSpec,
} from '../../contract/media-job';
import type { ProviderCall } from '../../contract/provider-call';
import { isJsonObject, type JsonObject } from '../../kit/json';
import type { UpstreamHttp } from '../../kit/upstream-http';
import { isSignedByOpenRouter } from './openrouter-signature';
import { toDataUrl } from '../../kit/data-url';
import {
  asVideo,
  billed,
  canceledJob,
  expiredJob,
  failedJob,
  fetchJob,
  isModeration,
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

const AUDIO_FIELD = 'generate_audio';

/**
 * Videos of OpenRouter's vendors (https://openrouter.ai/docs/api_reference/videos). The catalogue states what a model
 * supports, according to `GET /videos/models`.
 */
export class OpenRouterVideo extends VideoJobs {
  readonly capabilities: JobCapabilities = {
    cancel: 'never',
    progress: false,
    idempotentSubmit: false,
    // Not documented; this is the shortest time among OpenRouter's vendors.
    outputTtlSeconds: 3_600,
    // "Recommended: every 10–30 seconds"
    pollMs: [10_000, 30_000],
  };

  /** Present only if the operator has set the workspace's secret. */
  readonly verifyReport?: AsyncJobAdapter['verifyReport'];

  constructor(
    provider: string,
    http: UpstreamHttp,
    private readonly credential: DownloadCredential,
    reportSecret?: string,
  ) {
    super(provider, http);
    if (reportSecret === undefined) return;
    this.verifyReport = (report) => Promise.resolve(isSignedByOpenRouter(report, reportSecret));
  }

  assertSupported(spec: JobSpec): void {
    toOpenRouterRequest(asVideo(spec), UNSENT);
  }

  async submit(spec: JobSpec, _token: string, call: ProviderCall): Promise<JobHandle> {
    const body = JSON.stringify(toOpenRouterRequest(asVideo(spec), call));
    const { id } = await submitJob(this.http, this.http.endpoint('videos'), body, call);
    return toHandle(this.provider, id, call);
  }

  async poll({ id }: JobHandle, call: ProviderCall): Promise<JobSnapshot> {
    return toSnapshot(await fetchJob(this.http, this.http.endpoint(`videos/${segment(id)}`), call));
  }

  /** `unsigned_urls` point to OpenRouter and need the key; `urls` are signed and point to its storage. */
  downloadCredential(): Promise<DownloadCredential> {
    return Promise.resolve(this.credential);
  }
}

function toOpenRouterRequest(spec: VideoSpec, { upstreamModel, quirks, callbackUrl }: SubmissionCall): JsonObject {
  const { prompt, durationSeconds, resolution, aspectRatio, audio, firstFrame, lastFrame, references } = spec;
  const frames = [
    ...(firstFrame === null ? [] : [{ ...toContent(firstFrame), frame_type: 'first_frame' }]),
    ...(lastFrame === null ? [] : [{ ...toContent(lastFrame), frame_type: 'last_frame' }]),
  ];
  if (frames.length > 0 && references.length > 0) {
    // OpenRouter would ignore the references.
    throw unsupportedTogether('The provider takes either input_images or frames.', 'input_images');
  }
  return {
    model: upstreamModel,
    prompt,
    duration: durationSeconds,
    // OpenRouter writes labels with an upper-case letter: 4K.
    ...(resolution !== null && { resolution: resolution.replace(/k$/, 'K') }),
    ...(aspectRatio !== null && { aspect_ratio: aspectRatio }),
    // Models without a choice of sound refuse the field.
    ...(quirks.dropFields?.includes(AUDIO_FIELD) !== true && { [AUDIO_FIELD]: audio }),
    ...(frames.length > 0 && { frame_images: frames }),
    ...(references.length > 0 && { input_references: references.map(toContent) }),
    ...(callbackUrl !== undefined && { callback_url: callbackUrl }),
  };
}

function toContent(image: ImageFile): JsonObject {
  return { type: 'image_url', image_url: { url: toDataUrl(image) } };
}

function toSnapshot({ status, urls, unsigned_urls: unsignedUrls, usage, error }: JsonObject): JobSnapshot {
  switch (status) {
    case 'completed': {
      const [signed] = Array.isArray(urls) ? (urls as readonly unknown[]) : [];
      const [unsigned] = Array.isArray(unsignedUrls) ? (unsignedUrls as readonly unknown[]) : [];
      const dollars = toCount(isJsonObject(usage) ? usage['cost'] : undefined);
      // Not rounded: the price rounds up once.
      const vendorCostMicro = dollars === undefined ? undefined : shiftDecimal(dollars, 6);
      return videoAt(signed ?? unsigned, billed({ vendorCostMicro }));
    }
    case 'failed':
      // `error` is a sentence, which may quote the prompt.
      return failedJob([], typeof error === 'string' && isModeration(error));
    case 'cancelled':
      return canceledJob();
    case 'expired':
      return expiredJob();
    case 'in_progress':
      return { state: 'running', progress: null };
    default:
      return { state: 'queued', progress: null };
  }
}
