import type { ImageFile } from '../../contract/images';
import type { JobCapabilities, JobHandle, JobSnapshot, JobSpec, VideoSpec } from '../../contract/media-job';
import type { ProviderCall } from '../../contract/provider-call';
import { SUCCESS_WITHOUT_RESULT } from '../../contract/provider-error';
import { ModelEndpoints } from '../../dialects/gemini-generate/model-endpoints';
import { decodeBase64, isJsonObject, type JsonObject, parseJsonObject } from '../../kit/json';
import type { UpstreamHttp } from '../../kit/upstream-http';
import {
  asVideo,
  failedJob,
  isModeration,
  submitJob,
  toHandle,
  unreadable,
  unsupportedTogether,
  VideoJobs,
} from '../../kit/video-jobs';

const MAX_REFERENCES = 3;
/**
 * The only duration of videos with references:
 * https://docs.cloud.google.com/vertex-ai/generative-ai/docs/models/veo/3-1-generate
 */
const REFERENCE_SECONDS = 8;

/**
 * Videos by Veo (https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/veo-video-generation). The
 * request names no bucket, so the finished operation contains the file itself. Its id is a resource name, which is
 * polled with a `POST`. The Gemini API has not offered Veo since 2026-10-22.
 */
export class VeoVideo extends VideoJobs {
  readonly capabilities: JobCapabilities = {
    cancel: 'never',
    progress: false,
    idempotentSubmit: false,
    outputTtlSeconds: 3_600,
    // A video takes one to three minutes, and every poll of a finished operation transfers the file.
    pollMs: [10_000, 30_000],
  };
  private readonly submissions: ModelEndpoints;
  private readonly polls: ModelEndpoints;

  /** @param authorize runs before a request is sent, for a credential that expires */
  constructor(
    provider: string,
    http: UpstreamHttp,
    private readonly authorize: () => Promise<void>,
  ) {
    super(provider, http);
    this.submissions = new ModelEndpoints(http, 'predictLongRunning');
    this.polls = new ModelEndpoints(http, 'fetchPredictOperation');
  }

  assertSupported(spec: JobSpec): void {
    toVeoRequest(asVideo(spec));
  }

  async submit(spec: JobSpec, _token: string, call: ProviderCall): Promise<JobHandle> {
    const body = JSON.stringify(toVeoRequest(asVideo(spec)));
    await this.authorize();
    const { name } = await submitJob(this.http, this.submissions.of(call.upstreamModel), body, call);
    return toHandle(this.provider, name, call);
  }

  async poll({ id, upstreamModel }: JobHandle, call: ProviderCall): Promise<JobSnapshot> {
    await this.authorize();
    const body = JSON.stringify({ operationName: id });
    const operation = parseJsonObject(await this.http.post(this.polls.of(upstreamModel), body, call));
    if (operation === null) throw unreadable();
    return toSnapshot(operation);
  }
}

function toVeoRequest(spec: VideoSpec): JsonObject {
  assertTogether(spec);
  const { prompt, durationSeconds, resolution, aspectRatio, audio, firstFrame, lastFrame, references } = spec;
  const instance = {
    prompt,
    ...(firstFrame !== null && { image: toMedia(firstFrame) }),
    ...(lastFrame !== null && { lastFrame: toMedia(lastFrame) }),
    ...(references.length > 0 && {
      referenceImages: references.map((image) => ({ image: toMedia(image), referenceType: 'asset' })),
    }),
  };
  const parameters = {
    sampleCount: 1,
    durationSeconds,
    generateAudio: audio,
    ...(resolution !== null && { resolution }),
    ...(aspectRatio !== null && { aspectRatio }),
  };
  return { instances: [instance], parameters };
}

function assertTogether({ durationSeconds, firstFrame, lastFrame, references }: VideoSpec): void {
  if (lastFrame !== null && firstFrame === null) {
    throw unsupportedTogether('The model takes an end_image_url only with an image_url.', 'end_image_url');
  }
  if (references.length === 0) return;
  if (firstFrame !== null) {
    throw unsupportedTogether('The model takes either input_images or an image_url.', 'input_images');
  }
  if (references.length > MAX_REFERENCES) {
    throw unsupportedTogether(`The model takes at most ${MAX_REFERENCES} input_images.`, 'input_images');
  }
  if (durationSeconds !== REFERENCE_SECONDS) {
    const message = `With input_images, the model makes videos of ${REFERENCE_SECONDS} seconds only.`;
    throw unsupportedTogether(message, 'duration_seconds', [REFERENCE_SECONDS]);
  }
}

function toMedia({ bytes, contentType }: ImageFile): JsonObject {
  return { bytesBase64Encoded: bytes.toString('base64'), mimeType: contentType };
}

/** An operation's only state is `done`. */
function toSnapshot({ done, error, response }: JsonObject): JobSnapshot {
  if (done !== true) return { state: 'running', progress: null };
  if (isJsonObject(error)) {
    const { code, message } = error;
    return failedJob([code], typeof message === 'string' && isModeration(message));
  }
  const { videos, raiMediaFilteredCount } = isJsonObject(response) ? response : {};
  const [video]: readonly unknown[] = Array.isArray(videos) ? videos : [];
  const text = isJsonObject(video) ? video['bytesBase64Encoded'] : undefined;
  const bytes = typeof text === 'string' ? decodeBase64(text) : null;
  if (bytes === null) return failedJob([SUCCESS_WITHOUT_RESULT], Number(raiMediaFilteredCount) > 0);
  return { state: 'succeeded', outputs: [{ type: 'video', url: null, bytes }], usage: null };
}
