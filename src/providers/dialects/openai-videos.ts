/**
 * Dialect `openai-videos`: `POST …/videos` as OpenAI defined it. OpenAI shut it down on 2026-09-24
 * (https://developers.openai.com/api/docs/deprecations), but vLLM-Omni and compatible self-hosted servers still support
 * it (https://docs.vllm.ai/projects/vllm-omni/en/latest/serving/videos_api/).
 */
import type { Readable } from 'node:stream';
import type {
  AsyncJobAdapter,
  JobCapabilities,
  JobHandle,
  JobOutput,
  JobSnapshot,
  JobSpec,
  VideoSpec,
} from '../contract/media-job';
import type { ProviderCall } from '../contract/provider-call';
import { ProviderError } from '../contract/provider-error';
import { NO_USAGE } from '../contract/usage';
import { isJsonObject, type JsonObject } from '../kit/json';
import { type FormPart, MultipartBody } from '../kit/multipart-body';
import type { UpstreamHttp } from '../kit/upstream-http';
import {
  asVideo,
  canceledJob,
  expiredJob,
  failedJob,
  fetchJob,
  segment,
  submitJob,
  toHandle,
  toPercent,
  unsupportedTogether,
} from '../kit/video-jobs';

const LINES = /^(\d{3,4})p$/;

export class OpenAiVideos implements AsyncJobAdapter {
  readonly mode = 'async';
  readonly capabilities: JobCapabilities = {
    cancel: 'always',
    progress: true,
    idempotentSubmit: false,
    // The operator's server decides; one hour is assumed.
    outputTtlSeconds: 3_600,
    pollMs: [2_000, 15_000],
  };

  constructor(
    private readonly provider: string,
    private readonly http: UpstreamHttp,
  ) {}

  assertSupported(spec: JobSpec): void {
    toParts(asVideo(spec), '');
  }

  async submit(spec: JobSpec, _token: string, call: ProviderCall): Promise<JobHandle> {
    const body = new MultipartBody(toParts(asVideo(spec), call.upstreamModel));
    const { id } = await submitJob(this.http, this.http.endpoint('videos'), body, call);
    return toHandle(this.provider, id, call);
  }

  async poll({ id }: JobHandle, call: ProviderCall): Promise<JobSnapshot> {
    return toSnapshot(id, await fetchJob(this.http, this.endpointOf(id), call));
  }

  /** Deletes the job, which stops it at vLLM-Omni. A server that keeps a job in progress refuses. */
  async cancel(handle: JobHandle, call: ProviderCall): Promise<'requested' | 'too-late'> {
    const { state } = await this.poll(handle, call);
    if (state !== 'queued' && state !== 'running') return 'too-late';
    try {
      await this.http.delete(this.endpointOf(handle.id), call);
    } catch (error) {
      if (!(error instanceof ProviderError) || !isRefusal(error)) throw error;
    }
    return 'requested';
  }

  openOutput({ url }: JobOutput, call: ProviderCall): Promise<Readable> {
    return this.http.download(this.http.endpoint(url ?? ''), call);
  }

  private endpointOf(id: string): string {
    return this.http.endpoint(`videos/${segment(id)}`);
  }
}

function isRefusal({ options }: ProviderError): boolean {
  const { status = 0 } = options.upstream ?? {};
  return status === 400 || status === 405 || status === 409;
}

function toParts(spec: VideoSpec, model: string): FormPart[] {
  const { prompt, durationSeconds, firstFrame, lastFrame, references } = spec;
  if (lastFrame !== null || references.length > 0) {
    const param = lastFrame === null ? 'input_images' : 'end_image_url';
    throw unsupportedTogether('The provider takes an image_url only.', param);
  }
  const size = sizeOf(spec);
  return [
    { name: 'model', value: model },
    { name: 'prompt', value: prompt },
    { name: 'seconds', value: String(durationSeconds) },
    ...(size === null ? [] : [{ name: 'size', value: size }]),
    ...(firstFrame === null
      ? []
      : [
          {
            name: 'input_reference',
            fileName: `frame.${firstFrame.contentType.slice('image/'.length)}`,
            contentType: firstFrame.contentType,
            bytes: firstFrame.bytes,
          },
        ]),
  ];
}

/** Converts a label such as `720p` and a ratio to `WIDTHxHEIGHT`; the catalogue's other labels are already sizes. */
function sizeOf({ resolution, aspectRatio }: VideoSpec): string | null {
  if (resolution === null) return null;
  const lines = Number(LINES.exec(resolution)?.[1]);
  if (Number.isNaN(lines)) {
    if (aspectRatio === null) return resolution;
    throw unsupportedTogether('For this model, the resolution already determines the aspect ratio.', 'aspect_ratio');
  }
  const [width = 16, height = 9] = (aspectRatio ?? '16:9').split(':').map(Number);
  const long = toEven((lines * Math.max(width, height)) / Math.min(width, height));
  return width >= height ? `${long}x${lines}` : `${lines}x${long}`;
}

/** Rounds to even numbers, which codecs need. */
function toEven(pixels: number): number {
  return 2 * Math.round(pixels / 2);
}

function toSnapshot(id: string, { status, progress, error }: JsonObject): JobSnapshot {
  switch (status) {
    case 'completed': {
      // A relative URL: the base URL may be in the operator's network.
      const url = `videos/${segment(id)}/content`;
      return { state: 'succeeded', outputs: [{ type: 'video', url }], usage: NO_USAGE };
    }
    case 'failed':
      return failedJob(isJsonObject(error) ? [error['code']] : []);
    case 'cancelled':
      return canceledJob();
    case 'expired':
      return expiredJob();
    case 'in_progress':
      return { state: 'running', progress: toPercent(progress) ?? 0 };
    default:
      return { state: 'queued', progress: 0 };
  }
}
