/**
 * Predictions of Replicate (https://replicate.com/docs/reference/http). Without `Prefer: wait`, a submission is
 * answered at once, so its id is known even if the call ends early. The state always comes from the document, whatever
 * the reply's status.
 */
import type { CallLimits, ProviderCall } from '../../contract/provider-call';
import { type JsonObject, isJsonObject, parseJsonObject } from '../../kit/json';
import {
  isStorableId,
  isStorableUrl,
  type MappedQueue,
  moderatedFailure,
  type QueuedRequest,
  queueFailure,
  type QueueState,
  unreadableQueue,
} from '../../kit/mapped-queue';
import type { UpstreamHttp } from '../../kit/upstream-http';

/** A version of an unofficial model: `owner/name:version`, or the version alone. */
const VERSION = /^(?:[^:]+:)?([0-9a-f]{64})$/;
/** Words in models' error messages that indicate moderation (https://replicate.com/docs/reference/error-codes). */
const MODERATED = /nsfw|sensitive|content policy|safety|moderat|\bE005\b/i;
const INTERRUPTED = /interrupted|\bcode: PA\b|\bE1000\b|\bE1002\b/i;

export class ReplicateQueue implements MappedQueue {
  constructor(private readonly http: UpstreamHttp) {}

  /** Sent once, since Replicate has no idempotency key. */
  async submit(input: JsonObject, call: ProviderCall): Promise<QueuedRequest> {
    const { upstreamModel, callbackUrl } = call;
    const version = VERSION.exec(upstreamModel)?.[1];
    const path = upstreamModel.split('/').map(encodeURIComponent).join('/');
    const target = this.http.endpoint(version === undefined ? `models/${path}/predictions` : 'predictions');
    const callback = { webhook: callbackUrl, webhook_events_filter: ['completed'] };
    const body = { ...(version !== undefined && { version }), input, ...(callbackUrl !== undefined && callback) };
    const reply = parseJsonObject(await this.http.post(target, JSON.stringify(body), call));
    const { get, cancel } = isJsonObject(reply?.['urls']) ? reply['urls'] : {};
    const id = reply?.['id'];
    if (!isStorableId(id) || !isStorableUrl(get) || !isStorableUrl(cancel)) throw unreadableQueue();
    return { id, urls: { get, cancel } };
  }

  async poll({ urls }: QueuedRequest, call: CallLimits): Promise<QueueState> {
    const prediction = parseJsonObject(await this.http.get(this.targetOf(urls['get']), call));
    if (prediction === null) throw unreadableQueue();
    return stateOf(prediction);
  }

  async cancel({ urls }: QueuedRequest, call: CallLimits): Promise<'canceled' | 'requested' | 'too-late'> {
    const { body } = await this.http.request('POST', this.targetOf(urls['cancel']), call);
    const status = parseJsonObject(body)?.['status'];
    if (status === 'canceled' || status === 'aborted') return 'canceled';
    return status === 'succeeded' || status === 'failed' ? 'too-late' : 'requested';
  }

  /** Requests carry the key, so they go only to the configured host. */
  private targetOf(reportedUrl = ''): string {
    const target = this.http.endpointAt(reportedUrl);
    if (target === null) throw unreadableQueue();
    return target;
  }
}

function stateOf({ status, output, error, metrics }: JsonObject): QueueState {
  switch (status) {
    case 'starting':
      return { state: 'queued' };
    case 'succeeded':
      // After an hour Replicate removes all data of a prediction, and `output` is then null.
      return { state: 'done', document: output, units: predictSecondsOf(metrics) };
    case 'failed':
      return failureOf(typeof error === 'string' ? error : '');
    case 'canceled':
      return queueFailure('canceled', 'provider_error', 'The provider canceled the job.', { kind: 'canceled' });
    case 'aborted':
      // Replicate aborts predictions whose deadline passes before they start
      // (https://replicate.com/changelog/2025-10-16-prediction-deadlines).
      return queueFailure('expired', 'provider_timeout', 'The provider did not start the job in time.', {
        kind: 'aborted',
      });
    default:
      // An unknown state does not end the prediction.
      return { state: 'running' };
  }
}

/** The model's own text may quote the prompt, so only its kind is kept. */
function failureOf(text: string) {
  if (MODERATED.test(text)) return moderatedFailure('moderated');
  if (INTERRUPTED.test(text)) {
    const message = 'The provider interrupted the job.';
    return queueFailure('failed', 'provider_unavailable', message, { kind: 'interrupted' });
  }
  const code = /\bE\d{3,4}\b/.exec(text)?.[0] ?? 'failed';
  return queueFailure('failed', 'provider_error', 'The provider failed to make the result.', { kind: code });
}

/** Seconds on the hardware, by which Replicate bills unofficial models. */
function predictSecondsOf(metrics: unknown): number | null {
  const seconds = isJsonObject(metrics) ? metrics['predict_time'] : null;
  return typeof seconds === 'number' && Number.isFinite(seconds) && seconds > 0 ? seconds : null;
}
