/**
 * Shared by the adapters of vendors with a video queue: submitting and polling jobs, and the error of a failed job. The
 * vendors differ only in their request and reply documents.
 */
import type {
  AsyncJobAdapter,
  JobCapabilities,
  JobHandle,
  JobSnapshot,
  JobSpec,
  VideoSpec,
} from '../contract/media-job';
import type { ProviderCall } from '../contract/provider-call';
import { ProviderError, type ProviderErrorOptions, SUCCESS_WITHOUT_RESULT } from '../contract/provider-error';
import { NO_USAGE, type UsageVector } from '../contract/usage';
import { type JsonObject, parseJsonObject } from './json';
import type { UpstreamBody, UpstreamHttp } from './upstream-http';

/** Handles are at most 2 KB. */
const MAX_ID_LENGTH = 512;
/** Names under which vendors report a refusal by their moderation. */
const MODERATION = /moderat|safety|policy|sensitive|nsfw|prohibited|content_?filter|risk|violat/i;

/** The base of video adapters. Results are at public URLs unless the adapter has a `downloadCredential`. */
export abstract class VideoJobs implements AsyncJobAdapter {
  readonly mode = 'async';
  abstract readonly capabilities: JobCapabilities;

  constructor(
    protected readonly provider: string,
    protected readonly http: UpstreamHttp,
  ) {}

  /** Builds the body that `submit` would send, and so refuses the same options. */
  abstract assertSupported(spec: JobSpec): void;
  abstract submit(spec: JobSpec, token: string, call: ProviderCall): Promise<JobHandle>;
  abstract poll(handle: JobHandle, call: ProviderCall): Promise<JobSnapshot>;
}

/** What a submission's body depends on, besides the job. */
export type SubmissionCall = Pick<ProviderCall, 'upstreamModel' | 'quirks' | 'callbackUrl'>;

/** For a body that is built only to check the options. */
export const UNSENT: SubmissionCall = { upstreamModel: '', quirks: {} };

/** @throws ProviderError for music, which the provider does not claim */
export function asVideo(spec: JobSpec): VideoSpec {
  if (spec.kind === 'video') return spec;
  throw unsupportedTogether('The provider makes videos only.', 'model');
}

/**
 * Sends a job, once. The gateway writes the body itself and has checked the options, so a 400 concerns the prompt or
 * the images: another attempt would be refused too, and the job fails.
 * @throws ProviderError
 */
export async function submitJob(
  http: UpstreamHttp,
  endpoint: string,
  body: UpstreamBody,
  call: ProviderCall,
): Promise<JsonObject> {
  try {
    return readReply(await http.post(endpoint, body, call));
  } catch (error) {
    throw error instanceof ProviderError ? asRefusal(error) : error;
  }
}

/** The document about a job. @throws ProviderError */
export async function fetchJob(http: UpstreamHttp, endpoint: string, call: ProviderCall): Promise<JsonObject> {
  return readReply(await http.get(endpoint, call));
}

function readReply(bytes: Buffer): JsonObject {
  const reply = parseJsonObject(bytes);
  if (reply === null) throw unreadable();
  return reply;
}

/** A final refusal. Here a 400 or 422 concerns the prompt or the images. */
export function asRefusal(error: ProviderError): ProviderError {
  const { code, options } = error;
  const { status, code: name, type } = options.upstream ?? {};
  if (options.credentialRefused === true || options.notOffered === true) return error;
  if (status !== 400 && status !== 422) return error;
  if (MODERATION.test(`${name} ${type}`)) return contentRefused(options);
  if (code !== 'provider_error') return error;
  return new ProviderError('validation_failed', 'The provider refused the request as invalid.', {
    ...options,
    fallback: false,
  });
}

/** The vendor's moderation refused the prompt or an image. */
export function contentRefused(options: ProviderErrorOptions): ProviderError {
  return new ProviderError('validation_failed', CONTENT_REFUSED, {
    ...options,
    fallback: false,
    details: { reason: 'content_filtered' },
  });
}

/** The provider's reply lacks a required field. After a submission, the outcome is unknown. */
export function unreadable(): ProviderError {
  return new ProviderError('provider_error', 'The provider sent a response that could not be read.', {
    phase: 'job',
    fallback: false,
    outcomeUnknown: true,
  });
}

/** @throws ProviderError when the reply has no usable id */
export function toHandle(provider: string, id: unknown, { upstreamModel }: ProviderCall): JobHandle {
  if (typeof id !== 'string' || id === '' || id.length > MAX_ID_LENGTH) throw unreadable();
  return { v: 1, provider, upstreamModel, id };
}

/** Encodes an id as a path segment. */
export function segment(id: string): string {
  return encodeURIComponent(id);
}

/** A whole percentage, 100 only once the gateway has the file. `null` for values that are not numbers. */
export function toPercent(value: unknown, whole = 100): number | null {
  if (typeof value !== 'number' || !Number.isFinite(value)) return null;
  return Math.max(0, Math.min(99, Math.floor((value / whole) * 100)));
}

/** Whether a vendor's text names moderation as the reason of a failure. */
export function isModeration(text: string): boolean {
  return MODERATION.test(text);
}

const CONTENT_REFUSED = 'The provider’s content policy refused the request.';

/**
 * A failed job. The vendor's own words are left out, since they may quote the prompt.
 * @param names the vendor's codes of the failure, which distinguish a refusal by moderation from a fault
 */
export function failedJob(names: readonly unknown[], moderated = false): JobSnapshot {
  const code = names.filter((name) => typeof name === 'string' || typeof name === 'number').join(' ');
  const isModerated = moderated || MODERATION.test(code);
  const message = isModerated ? CONTENT_REFUSED : 'The provider failed to make the result.';
  return {
    state: 'failed',
    error: new ProviderError('provider_error', message, {
      phase: 'job',
      fallback: false,
      ...(isModerated && { details: { reason: 'content_filtered' } }),
      upstream: { code: code.slice(0, 100) },
    }),
  };
}

export function expiredJob(): JobSnapshot {
  const message = 'The provider did not finish the job in time.';
  return { state: 'expired', error: new ProviderError('provider_timeout', message, { phase: 'job', fallback: false }) };
}

export function canceledJob(): JobSnapshot {
  const message = 'The provider canceled the job.';
  return { state: 'canceled', error: new ProviderError('provider_error', message, { phase: 'job', fallback: false }) };
}

/** A count; `undefined` for anything else. */
export function toCount(value: unknown): number | undefined {
  const count = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof count === 'number' && Number.isFinite(count) && count > 0 ? count : undefined;
}

/** One video at a public address; `null` when the vendor sent none. */
export function videoAt(url: unknown, usage: UsageVector): JobSnapshot {
  if (typeof url !== 'string' || !/^https?:/i.test(url)) return failedJob([SUCCESS_WITHOUT_RESULT]);
  return { state: 'succeeded', outputs: [{ type: 'video', url }], usage };
}

/** The usage that a vendor reports for a finished job, for the price: seconds, or the vendor's own bill. */
export function billed(bill: Partial<Pick<UsageVector, 'seconds' | 'units' | 'vendorCostMicro'>>): UsageVector {
  return { ...NO_USAGE, ...Object.fromEntries(Object.entries(bill).filter(([, count]) => count !== undefined)) };
}

/** Refuses, before sending, options that the model supports but not together. */
export function unsupportedTogether(message: string, param: string, supported?: unknown): ProviderError {
  return new ProviderError('validation_failed', message, {
    phase: 'connect',
    fallback: false,
    param,
    ...(supported !== undefined && { details: { supported } }),
  });
}
