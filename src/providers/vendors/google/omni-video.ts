import type { ImageFile } from '../../contract/images';
import type {
  DownloadCredential,
  JobCapabilities,
  JobHandle,
  JobSnapshot,
  JobSpec,
  VideoSpec,
} from '../../contract/media-job';
import type { ProviderCall } from '../../contract/provider-call';
import { SUCCESS_WITHOUT_RESULT } from '../../contract/provider-error';
import { isJsonObject, type JsonObject, parseJsonObject } from '../../kit/json';
import type { UpstreamHttp } from '../../kit/upstream-http';
import {
  asVideo,
  canceledJob,
  expiredJob,
  failedJob,
  fetchJob,
  segment,
  submitJob,
  toHandle,
  unsupportedTogether,
  VideoJobs,
} from '../../kit/video-jobs';
import { contentOf } from './interactions';

const MAX_REFERENCES = 6;

/**
 * Videos of Gemini Omni (https://ai.google.dev/gemini-api/docs/omni), which always have sound. The Interactions API
 * makes them in the background: without `background`, the reply would take as long as the video. Google keeps the file
 * for two days and requires the key to download it.
 */
export class OmniVideo extends VideoJobs {
  readonly capabilities: JobCapabilities = {
    cancel: 'always',
    progress: false,
    idempotentSubmit: false,
    // Files of the Files API: https://ai.google.dev/gemini-api/docs/files
    outputTtlSeconds: 172_800,
    pollMs: [5_000, 15_000],
  };

  constructor(
    provider: string,
    http: UpstreamHttp,
    private readonly credential: DownloadCredential,
  ) {
    super(provider, http);
  }

  assertSupported(spec: JobSpec): void {
    toInteraction(asVideo(spec), '');
  }

  async submit(spec: JobSpec, _token: string, call: ProviderCall): Promise<JobHandle> {
    const body = JSON.stringify(toInteraction(asVideo(spec), call.upstreamModel));
    const { id } = await submitJob(this.http, this.http.endpoint('interactions'), body, call);
    return toHandle(this.provider, id, call);
  }

  async poll({ id }: JobHandle, call: ProviderCall): Promise<JobSnapshot> {
    return toSnapshot(await fetchJob(this.http, this.endpointOf(id), call));
  }

  /** Canceling a finished interaction fails with an ordinary error, so the state is read first. */
  async cancel(handle: JobHandle, call: ProviderCall): Promise<'canceled' | 'requested' | 'too-late'> {
    const { state } = await this.poll(handle, call);
    if (state === 'canceled') return 'canceled';
    if (state !== 'running') return 'too-late';
    const reply = parseJsonObject(await this.http.post(`${this.endpointOf(handle.id)}/cancel`, '{}', call));
    return reply?.['status'] === 'cancelled' ? 'canceled' : 'requested';
  }

  downloadCredential(): Promise<DownloadCredential> {
    return Promise.resolve(this.credential);
  }

  private endpointOf(id: string): string {
    return this.http.endpoint(`interactions/${segment(id)}`);
  }
}

function toInteraction(spec: VideoSpec, model: string): JsonObject {
  assertTogether(spec);
  const { prompt, durationSeconds, resolution, aspectRatio, firstFrame, references } = spec;
  const images = [...(firstFrame === null ? [] : [firstFrame]), ...references];
  const task = firstFrame === null ? 'reference_to_video' : 'image_to_video';
  return {
    model,
    input: images.length === 0 ? prompt : [...images.map(toContent), { type: 'text', text: prompt }],
    background: true,
    ...(images.length > 0 && { generation_config: { video_config: { task } } }),
    response_format: {
      type: 'video',
      // A video inside the reply may exceed the gateway's limit for replies.
      delivery: 'uri',
      // Google refuses a plain number.
      duration: `${durationSeconds}s`,
      ...(resolution !== null && { resolution }),
      ...(aspectRatio !== null && { aspect_ratio: aspectRatio }),
    },
  };
}

function assertTogether({ firstFrame, lastFrame, references }: VideoSpec): void {
  if (lastFrame !== null) throw unsupportedTogether('The model takes no end_image_url.', 'end_image_url');
  if (references.length === 0) return;
  if (firstFrame !== null) {
    throw unsupportedTogether('The model takes either input_images or an image_url.', 'input_images');
  }
  if (references.length > MAX_REFERENCES) {
    throw unsupportedTogether(`The model takes at most ${MAX_REFERENCES} input_images.`, 'input_images');
  }
}

function toContent({ bytes, contentType }: ImageFile): JsonObject {
  return { type: 'image', data: bytes.toString('base64'), mime_type: contentType };
}

function toSnapshot(interaction: JsonObject): JobSnapshot {
  const { status, error } = interaction;
  switch (status) {
    case 'completed': {
      const url = fileOf(contentOf(interaction, 'video')?.['uri']);
      // A refusal by moderation completes with text instead of a video.
      if (url === null) return failedJob([SUCCESS_WITHOUT_RESULT], contentOf(interaction, 'text') !== null);
      return { state: 'succeeded', outputs: [{ type: 'video', url }], usage: null };
    }
    case 'failed':
      return failedJob(isJsonObject(error) ? [error['status'], error['code']] : []);
    case 'incomplete':
    case 'budget_exceeded':
    case 'requires_action':
      return failedJob([status]);
    case 'cancelled':
      return canceledJob();
    case 'expired':
      return expiredJob();
    default:
      return { state: 'running', progress: null };
  }
}

/** Adds `alt=media`: without it, the URL returns the file's description. */
function fileOf(uri: unknown): string | null {
  const url = typeof uri === 'string' && /^https?:/i.test(uri) && URL.canParse(uri) ? new URL(uri) : null;
  if (url === null) return null;
  if (!url.searchParams.has('alt')) url.searchParams.set('alt', 'media');
  return url.href;
}
