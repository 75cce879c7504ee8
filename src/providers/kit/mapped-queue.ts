/** Video, music and images of vendors with one queue for many models. The catalogue maps their inputs and results. */
import type { ImageRequest, ImageResult, ImagesProvider } from '../contract/images';
import type { AsyncJobAdapter, JobCapabilities, JobHandle, JobSnapshot, JobSpec } from '../contract/media-job';
import type { CallLimits, ProviderCall } from '../contract/provider-call';
import { ProviderError, SUCCESS_WITHOUT_RESULT } from '../contract/provider-error';
import { NO_USAGE, type UsageVector } from '../contract/usage';
import { awaitResult, SharedDeadline } from './await-result';
import { imageOfUrl, notImages } from './image-replies';
import type { JsonObject } from './json';
import { requireMapping, toImageInput, toJobInput, urlsAt, valuesAt } from './request-mapping';
import { asRefusal, failedJob } from './video-jobs';

const CANCEL_TIMEOUT_MS = 5_000;
/** Ids and URLs are stored in a job's handle, which holds at most 2 KB. */
const MAX_ID_LENGTH = 100;
const MAX_URL_LENGTH = 500;

/** An accepted request, and the URLs that the vendor returned for it. */
export type QueuedRequest = Required<Pick<JobHandle, 'id' | 'urls'>>;

/** A request that ended without a result. */
export interface QueueFailure {
  readonly state: 'failed' | 'canceled' | 'expired';
  readonly error: ProviderError;
}

/** `document` is an object, unless the model's mapping expects something else. */
export interface QueueResult {
  readonly state: 'done';
  readonly document: unknown;
  readonly units: number | null;
}

export type QueueEnd = QueueResult | QueueFailure;

export type QueueState = { readonly state: 'queued' } | { readonly state: 'running' } | QueueEnd;

export interface MappedQueue {
  /** Sends a request, once. @throws ProviderError */
  submit(input: JsonObject, call: ProviderCall): Promise<QueuedRequest>;
  /** @throws ProviderError when the state could not be read, which says nothing about the request */
  poll(request: QueuedRequest, call: CallLimits): Promise<QueueState>;
  cancel(request: QueuedRequest, call: CallLimits): Promise<'canceled' | 'requested' | 'too-late'>;
}

/** Whether the value is an id that the handle of a job can hold. */
export function isStorableId(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_ID_LENGTH;
}

/** Whether the value is a URL that the handle of a job can hold. */
export function isStorableUrl(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_URL_LENGTH && URL.canParse(value);
}

export class MappedJobs implements AsyncJobAdapter {
  readonly mode = 'async';

  constructor(
    private readonly provider: string,
    private readonly queue: MappedQueue,
    readonly capabilities: JobCapabilities,
    readonly verifyReport: Required<AsyncJobAdapter>['verifyReport'],
  ) {}

  /** A deployment without a mapping cannot be called, whatever the options of the request. */
  assertSupported(spec: JobSpec, { mapping }: Pick<ProviderCall, 'mapping'>): void {
    if (mapping !== undefined) toJobInput(spec, mapping);
  }

  async submit(spec: JobSpec, _token: string, call: ProviderCall): Promise<JobHandle> {
    const mapping = requireMapping(call);
    const input = toJobInput(spec, mapping);
    const { id, urls } = await this.queue.submit(input, call).catch((error: unknown) => {
      throw error instanceof ProviderError ? asRefusal(error) : error;
    });
    return { v: 1, provider: this.provider, upstreamModel: call.upstreamModel, id, urls, output: mapping.output };
  }

  async poll(handle: JobHandle, call: ProviderCall): Promise<JobSnapshot> {
    const found = await this.queue.poll(requestOf(handle), call);
    if (found.state === 'queued' || found.state === 'running') return { state: found.state, progress: null };
    if (found.state !== 'done')
      return isModerated(found) ? failedJob([found.error.options.upstream?.code], true) : found;
    const { video, audio, seconds } = handle.output ?? {};
    const outputs = [
      ...urlsAt(found.document, video).map((url) => ({ type: 'video', url }) as const),
      ...urlsAt(found.document, audio).map((url) => ({ type: 'audio', url }) as const),
    ];
    if (outputs.length === 0) return { state: 'failed', error: noResult() };
    const [duration] = valuesAt(found.document, seconds);
    return { state: 'succeeded', outputs, usage: usageOf(found.units, duration) };
  }

  cancel(handle: JobHandle, call: ProviderCall): Promise<'canceled' | 'requested' | 'too-late'> {
    return this.queue.cancel(requestOf(handle), call);
  }
}

/** Images that are submitted once and awaited within the call's time limit. */
export class MappedImages implements ImagesProvider {
  constructor(private readonly queue: MappedQueue) {}

  async generate(request: ImageRequest, call: ProviderCall): Promise<ImageResult> {
    const mapping = requireMapping(call);
    const input = toImageInput(request, mapping);
    const { document, units } = await makeInCall(this.queue, input, call);
    const images = urlsAt(document, mapping.output.image).map(imageOfUrl);
    if (images.length === 0) throw notImages('no image');
    return { images, usage: units === null ? null : { ...NO_USAGE, images: images.length, units } };
  }
}

/**
 * Submits a request once and waits for its result within the call's time limit.
 * @throws ProviderError
 */
export async function makeInCall(queue: MappedQueue, input: JsonObject, call: ProviderCall): Promise<QueueResult> {
  const deadline = new SharedDeadline(call);
  const accepted = await queue.submit(input, { ...call, ...deadline.next(), callbackUrl: undefined });
  const ended = await awaitEnd(queue, accepted, deadline, call);
  if (ended.state !== 'done') throw afterSubmission(ended);
  return ended;
}

/** Cancels the request if the call ends first, since the result would not be used. */
async function awaitEnd(
  queue: MappedQueue,
  accepted: QueuedRequest,
  deadline: SharedDeadline,
  call: ProviderCall,
): Promise<QueueEnd> {
  try {
    return await awaitResult(deadline, async (limits) => {
      const found = await queue.poll(accepted, limits);
      return found.state === 'queued' || found.state === 'running' ? null : found;
    });
  } catch (error) {
    const limits = { deadlines: call.deadlines, signal: AbortSignal.timeout(CANCEL_TIMEOUT_MS) };
    void queue.cancel(accepted, limits).catch(() => undefined);
    throw error;
  }
}

function requestOf({ id, urls = {} }: JobHandle): QueuedRequest {
  return { id, urls };
}

/** The usage that a price may charge: the vendor's units, or the duration of the result. */
function usageOf(units: number | null, duration: unknown): UsageVector {
  const seconds = typeof duration === 'number' && duration > 0 ? duration : 0;
  return { ...NO_USAGE, seconds, ...(units !== null && { units }) };
}

function noResult(): ProviderError {
  return new ProviderError('provider_error', 'The provider reported success, but sent no result.', {
    phase: 'job',
    fallback: false,
    upstream: { code: SUCCESS_WITHOUT_RESULT },
  });
}

/** The failure of a request that was accepted, after which no other attempt may follow. */
function afterSubmission({ error }: QueueFailure): ProviderError {
  return new ProviderError(error.code, error.message, { ...error.options, phase: 'first_token', fallback: false });
}

/** A request that ended without a result. `kind` is the vendor's name for the failure, for the log. */
export function queueFailure(
  state: QueueFailure['state'],
  code: ProviderError['code'],
  message: string,
  { kind, ...options }: { readonly kind: string; readonly param?: string; readonly details?: Record<string, unknown> },
): QueueFailure {
  const upstream = { code: kind.slice(0, 100) };
  return { state, error: new ProviderError(code, message, { ...options, phase: 'job', fallback: false, upstream }) };
}

/** Whether moderation ended the request. Jobs then fail with the same error for every vendor. */
function isModerated({ error }: QueueFailure): boolean {
  return error.options.details?.['reason'] === 'content_filtered';
}

/** The vendor's moderation refused the input or withheld the result. */
export function moderatedFailure(kind: string, details: Record<string, unknown> = {}): QueueFailure {
  return queueFailure('failed', 'validation_failed', 'The provider’s content policy refused the request.', {
    kind,
    details: { ...details, reason: 'content_filtered' },
  });
}

/** The reply lacks a required field; a submission may have been accepted. */
export function unreadableQueue(): ProviderError {
  return new ProviderError('provider_error', 'The provider sent a response that could not be read.', {
    phase: 'first_token',
    fallback: false,
    outcomeUnknown: true,
  });
}
