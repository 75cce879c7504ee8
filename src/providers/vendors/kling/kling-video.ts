import type { ImageFile } from '../../contract/images';
import type { JobCapabilities, JobHandle, JobSnapshot, JobSpec, VideoSpec } from '../../contract/media-job';
import type { ProviderCall } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import { isJsonObject, type JsonObject } from '../../kit/json';
import {
  asVideo,
  billed,
  contentRefused,
  failedJob,
  fetchJob,
  isModeration,
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
import type { UpstreamHttp } from '../../kit/upstream-http';

/**
 * Kling 3.0 (https://kling.ai/document-api/api/video/3-0-omni/image-to-video). The model is part of the path, and every
 * reply is an envelope with Kling's own code. There is no cancellation and no progress. The job's token is sent as
 * `external_task_id`, which is unique within the account and can be looked up, so a submission can be repeated.
 */
export class KlingVideo extends VideoJobs {
  readonly capabilities: JobCapabilities;

  constructor(provider: string, http: UpstreamHttp, submissionAccount: string) {
    super(provider, http);
    this.capabilities = {
      cancel: 'never',
      progress: false,
      idempotentSubmit: true,
      submissionAccount,
      // "Generated results will be cleared after 30 days"
      outputTtlSeconds: 2_592_000,
      pollMs: [10_000, 30_000],
    };
  }

  assertSupported(spec: JobSpec): void {
    toKlingRequest(asVideo(spec), '', UNSENT);
  }

  async submit(spec: JobSpec, token: string, call: ProviderCall): Promise<JobHandle> {
    const video = asVideo(spec);
    const body = JSON.stringify(toKlingRequest(video, token, call));
    const known = await this.find('external_task_ids', token, call);
    if (known !== null) return toHandle(this.provider, known['id'], call);
    const family = video.firstFrame === null ? 'text-to-video' : 'image-to-video';
    const endpoint = this.http.endpoint(`${family}/${segment(call.upstreamModel)}`);
    const { id } = toTask(await this.exchange(submitJob(this.http, endpoint, body, call)));
    return toHandle(this.provider, id, call);
  }

  async poll({ id }: JobHandle, call: ProviderCall): Promise<JobSnapshot> {
    const task = await this.find('task_ids', id, call);
    if (task === null) throw klingFault(TASK_NOT_FOUND);
    return toSnapshot(task);
  }

  /** `null`: there is no such task. */
  private async find(
    name: 'task_ids' | 'external_task_ids',
    id: string,
    call: ProviderCall,
  ): Promise<JsonObject | null> {
    const endpoint = this.http.endpoint('tasks', { [name]: id });
    try {
      const { data } = await this.exchange(fetchJob(this.http, endpoint, call));
      const tasks: readonly unknown[] = Array.isArray(data) ? data : [data];
      const key = name === 'task_ids' ? 'id' : 'external_id';
      return tasks.filter(isJsonObject).find((task) => task[key] === id) ?? null;
    } catch (error) {
      if (error instanceof ProviderError && error.options.upstream?.code === String(TASK_NOT_FOUND)) return null;
      throw error;
    }
  }

  /** The envelope of a successful reply. @throws ProviderError for a failure, even with status 200 */
  private async exchange(reply: Promise<JsonObject>): Promise<JsonObject> {
    let envelope: JsonObject;
    try {
      envelope = await reply;
    } catch (error) {
      const code = error instanceof ProviderError ? Number(error.options.upstream?.code) : NaN;
      throw Number.isInteger(code) && code > 0 ? klingFault(code, error as ProviderError) : error;
    }
    const { code } = envelope;
    if (typeof code !== 'number') throw unreadable();
    if (code !== 0) throw klingFault(code);
    return envelope;
  }
}

const TASK_NOT_FOUND = 1203;
/** A 403 for one endpoint or model; the key may work for all others. */
const NOT_PERMITTED = 1103;
/** A 429 that is not a rate limit: the account accepts requests from other IP addresses only. */
const ADDRESS_REFUSED = 1304;

/** https://kling.ai/document-api/api/get-started/error-codes */
function klingFault(code: number, error?: ProviderError): ProviderError {
  const options = { phase: 'first_token', fallback: true, ...error?.options } as const;
  const refused = (status: number) => ({ ...options, upstream: { status, code: String(code) } });
  if ((code >= 1000 && code < 1200) || code === ADDRESS_REFUSED) {
    // Failed authentication, or an account in arrears or without a resource package, for which Kling answers 429.
    const message = 'The provider refused the gateway’s account.';
    const status = code === NOT_PERMITTED ? 403 : 401;
    return new ProviderError('provider_error', message, { ...refused(status), credentialRefused: true });
  }
  if (code === TASK_NOT_FOUND) {
    return new ProviderError('provider_error', 'The provider does not know the job.', refused(404));
  }
  if (code >= 1200 && code < 1300) {
    const message = 'The provider refused the request as invalid.';
    return new ProviderError('validation_failed', message, { ...refused(400), fallback: false });
  }
  if (code === 1300 || code === 1301) return contentRefused(refused(400));
  if (code >= 1302 && code < 1400) {
    // 1303: more concurrent tasks than the resource package allows
    return new ProviderError('provider_rate_limited', 'The provider is limiting the rate of requests.', {
      ...refused(429),
      retryAfterSeconds: error?.options.retryAfterSeconds ?? 10,
    });
  }
  return error ?? new ProviderError('provider_unavailable', 'The provider is unavailable.', refused(503));
}

function toTask({ data }: JsonObject): JsonObject {
  if (!isJsonObject(data)) throw unreadable();
  return data;
}

function toKlingRequest(spec: VideoSpec, token: string, { callbackUrl }: SubmissionCall): JsonObject {
  const { prompt, durationSeconds, resolution, aspectRatio, audio, firstFrame, lastFrame } = spec;
  if (lastFrame !== null && firstFrame === null) {
    throw unsupportedTogether('The model takes an end_image_url only with an image_url.', 'end_image_url');
  }
  if (firstFrame !== null && aspectRatio !== null) {
    throw unsupportedTogether('The video always has the aspect ratio of image_url.', 'aspect_ratio');
  }
  return {
    ...(firstFrame === null
      ? { prompt }
      : {
          contents: [
            { type: 'prompt', text: prompt },
            toContent(firstFrame, 'first_frame'),
            ...(lastFrame === null ? [] : [toContent(lastFrame, 'last_frame')]),
          ],
        }),
    settings: {
      ...(resolution !== null && { resolution }),
      ...(firstFrame === null && aspectRatio !== null && { aspect_ratio: aspectRatio }),
      duration: durationSeconds,
      audio: audio ? 'native' : 'off',
    },
    options: { external_task_id: token, ...(callbackUrl !== undefined && { callback_url: callbackUrl }) },
  };
}

/** `url` takes a URL, or base64 without a `data:` prefix. */
function toContent({ bytes }: ImageFile, type: string): JsonObject {
  return { type, url: bytes.toString('base64') };
}

function toSnapshot({ status, message, outputs, billing }: JsonObject): JobSnapshot {
  switch (status) {
    case 'succeeded': {
      const files: readonly unknown[] = Array.isArray(outputs) ? outputs : [];
      const video = files.filter(isJsonObject).find(({ type }) => type === 'video') ?? {};
      // A video of 5.041 seconds is billed as 5.
      const seconds = toCount(video['duration']);
      return videoAt(video['url'], billed({ seconds: seconds && Math.round(seconds), units: unitsOf(billing) }));
    }
    case 'failed':
      // For example "triggering the content risk control of the platform"
      return failedJob([], typeof message === 'string' && isModeration(message));
    case 'processing':
      return { state: 'running', progress: null };
    default:
      return { state: 'queued', progress: null };
  }
}

/** Units of resource packages; `undefined` when the account paid in another way. */
function unitsOf(billing: unknown): number | undefined {
  if (!Array.isArray(billing) || billing.length === 0) return undefined;
  const rows: readonly unknown[] = billing;
  const amounts = rows.map((row) =>
    isJsonObject(row) && row['charge_type'] === 'unit' ? toCount(row['amount']) : undefined,
  );
  return amounts.some((amount) => amount === undefined)
    ? undefined
    : amounts.reduce<number>((sum, amount) => sum + (amount ?? 0), 0);
}
