/**
 * The queue of fal (https://fal.ai/docs/api-reference/inference-api): a request is submitted once, and its status and
 * result are read at the URLs that fal returned for it.
 */
import type { CallLimits, ProviderCall } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import { type JsonObject, parseJsonObject } from '../../kit/json';
import type { UpstreamHeaders } from '../../kit/upstream-errors';
import { STILL_IN_PROGRESS } from '../../kit/upstream-fault';
import type { UpstreamHttp } from '../../kit/upstream-http';
import {
  isStorableId,
  isStorableUrl,
  type MappedQueue,
  moderatedFailure,
  type QueuedRequest,
  type QueueState,
  unreadableQueue,
} from '../../kit/mapped-queue';
import { falFailureOf, reportedFailure } from './fal-failure';

/** The queue has two host names (https://fal.ai/docs/api-reference/inference-api/openapi/queue.json). */
const OWN_HOSTS: ReadonlySet<string> = new Set(['queue.fal.run', 'queue.falrun.com']);

export class FalQueue implements MappedQueue {
  constructor(private readonly http: UpstreamHttp) {}

  /** Sent once, since fal has no idempotency key. The URLs cannot be derived, since they lack the end of the path. */
  async submit(input: JsonObject, call: ProviderCall): Promise<QueuedRequest> {
    const { upstreamModel, callbackUrl } = call;
    const path = upstreamModel.split('/').map(encodeURIComponent).join('/');
    const query = callbackUrl === undefined ? '' : `?fal_webhook=${encodeURIComponent(callbackUrl)}`;
    const reply = parseJsonObject(await this.http.post(this.http.endpoint(path) + query, JSON.stringify(input), call));
    const [id, status, response, cancel] = ['request_id', 'status_url', 'response_url', 'cancel_url'].map(
      (name) => reply?.[name],
    );
    const isUsable = isStorableId(id) && [status, response, cancel].every(isStorableUrl);
    if (!isUsable) throw unreadableQueue();
    return { id, urls: { status: status as string, response: response as string, cancel: cancel as string } };
  }

  async poll({ urls }: QueuedRequest, call: CallLimits): Promise<QueueState> {
    const status = parseJsonObject(await this.http.get(this.targetOf(urls['status']), call));
    switch (status?.['status']) {
      case 'IN_QUEUE':
        return { state: 'queued' };
      case 'COMPLETED':
      case 'OK':
        // The status of a request that was removed from the queue is `OK`, with an error.
        return this.read(urls['response'], status, call);
      default:
        // An unknown state does not end the request.
        return { state: 'running' };
    }
  }

  /** fal stops a queued request, and asks the runner of a running one to stop. */
  async cancel({ urls }: QueuedRequest, call: CallLimits): Promise<'canceled' | 'requested' | 'too-late'> {
    try {
      const { status } = await this.http.request('PUT', this.targetOf(urls['cancel']), call);
      return status === 202 ? 'requested' : 'canceled';
    } catch (error) {
      // `ALREADY_COMPLETED` (https://fal.ai/docs/inference-api/queue/cancel).
      if (error instanceof ProviderError && error.options.upstream?.status === 400) return 'too-late';
      throw error;
    }
  }

  private async read(reportedUrl: string | undefined, status: JsonObject, call: CallLimits): Promise<QueueState> {
    const reported = reportedFailure(status);
    try {
      const reply = await this.http.request('GET', this.targetOf(reportedUrl), call);
      const document = parseJsonObject(reply.body);
      if (reported !== null) return reported;
      if (document === null) throw unreadableQueue();
      if (isWithheld(document)) return moderatedFailure('has_nsfw_concepts');
      return { state: 'done', document, units: unitsOf(reply.headers) };
    } catch (error) {
      if (!(error instanceof ProviderError) || call.signal.aborted) throw error;
      if (reported === null && isEarly(error)) return { state: 'running' };
      // The refused result describes the failure in more detail than the status.
      const failure = falFailureOf(error, reported !== null);
      if (failure !== null) return failure;
      if (reported !== null) return reported;
      throw error;
    }
  }

  /**
   * The target at the configured host: only the path of the reported URL is used, so that the key never goes elsewhere.
   */
  private targetOf(reportedUrl = ''): string {
    const own = this.http.endpointAt(reportedUrl);
    if (own !== null) return own;
    const url = URL.canParse(reportedUrl) ? new URL(reportedUrl) : null;
    if (url === null || !OWN_HOSTS.has(url.host)) throw unreadableQueue();
    return this.http.endpoint(url.pathname.slice(1)) + url.search;
  }
}

/**
 * Stable Diffusion and FLUX models return black images for withheld content
 * (https://fal.ai/models/fal-ai/flux/dev/api).
 */
function isWithheld({ has_nsfw_concepts: flags }: JsonObject): boolean {
  return Array.isArray(flags) && flags.length > 0 && flags.every((flag) => flag === true);
}

/**
 * 400 "Request is still in progress": the status changed before the result was available
 * (https://github.com/vercel/ai).
 */
function isEarly({ options }: ProviderError): boolean {
  return options.upstream?.code === STILL_IN_PROGRESS;
}

/** Fractions are usual: a unit may be a megapixel or a second (https://github.com/TanStack/ai/issues/722). */
function unitsOf(headers: UpstreamHeaders): number | null {
  const units = Number(headers['x-fal-billable-units'] ?? Number.NaN);
  return Number.isFinite(units) && units > 0 ? units : null;
}
