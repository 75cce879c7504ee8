import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { CLOCK, type Clock } from '../core/time/clock';
import { Metrics } from '../core/observability/metrics/catalogue';
import { RepeatGuard } from '../core/observability/repeat-guard';
import { OutboundClient, type WebhookAnswer } from '../core/outbound/outbound-client';
import { OutboundError } from '../core/outbound/outbound-error';
import { Tracing } from '../core/observability/traces/tracing';
import type { RequestTrace } from '../core/types/trace';
import { toRequestId } from '../core/types/ids';
import { nextStep, toOutcome } from './delivery-schedule';
import { WEBHOOK_BODY_SOURCE, type WebhookBody, type WebhookBodySource } from './webhook-body-source';
import { WebhookDeliveryRepository } from './webhook-delivery.repository';
import { WebhookSecretService } from './webhook-secret.service';
import { signatureHeaders } from './webhook-signature';
import { type ClaimedDelivery, type DeliveryState, TEST_EVENT } from './webhook.types';

/**
 * Together with the 15 s of a post (`OutboundClient`), this is shorter than the lease, so that a post ends before
 * another process can claim the delivery.
 */
const POST_WITHIN_MS = 40_000;
/** Time since the claim. A post that is not recorded by then is repeated. */
const RECORD_WITHIN_MS = 55_000;
const RECORD_PAUSE_MS = 1_000;
/** Pause before a delivery whose message could not be built in time is attempted again. */
const PUT_BACK_MS = 10_000;
const TEST_MESSAGE = 'This is a test of your webhook, requested in the dashboard. It is not about a job.';

/** One attempt at a delivery: builds the message, signs it, posts it once and records the outcome. */
@Injectable()
export class WebhookAttemptService {
  private readonly logger = new Logger('Webhooks');
  private readonly repeats: RepeatGuard;

  constructor(
    private readonly deliveries: WebhookDeliveryRepository,
    private readonly secrets: WebhookSecretService,
    @Inject(WEBHOOK_BODY_SOURCE) private readonly source: WebhookBodySource,
    private readonly outbound: OutboundClient,
    private readonly metrics: Metrics,
    @Inject(Tracing) private readonly tracing: Pick<Tracing, 'follow'>,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    this.repeats = new RepeatGuard(clock);
  }

  /**
   * Never rejects: after a local failure the delivery is put back or claimed again when its lease ends.
   * @param claimedAtMs monotonic time at which the claim was requested
   */
  async make(delivery: ClaimedDelivery, claimedAtMs: number): Promise<void> {
    try {
      const [body, secret] = await Promise.all([
        delivery.event === TEST_EVENT ? testEventBody(delivery) : this.source.build(delivery),
        this.secrets.require(delivery.organizationId),
      ]);
      if (body === null) await this.deliveries.withdraw(delivery);
      else if (this.since(claimedAtMs) < POST_WITHIN_MS) await this.deliver(delivery, body, secret, claimedAtMs);
      else await this.deliveries.putBack(delivery, PUT_BACK_MS);
    } catch (error) {
      if (this.repeats.admit(delivery.organizationId, String(error))) {
        this.logger.error({
          message: 'failed to build a webhook message',
          event: 'webhook_build_failed',
          ...idsOf(delivery),
          err: error,
        });
      }
      // When the database is unreachable, the lease expires.
      await this.deliveries.putBack(delivery, PUT_BACK_MS).catch(() => undefined);
    }
  }

  private async deliver(
    delivery: ClaimedDelivery,
    { bytes, requestId, traceparent }: WebhookBody,
    secret: string,
    claimedAtMs: number,
  ): Promise<void> {
    const timestamp = Math.floor(this.clock.now() / 1_000);
    const headers = {
      'content-type': 'application/json',
      'x-request-id': requestId,
      ...signatureHeaders({ id: delivery.id, timestamp, body: bytes }, secret),
    };
    const startedAtMs = this.clock.monotonic();
    const trace = this.tracing.follow('webhook', 'client', traceparent, startedAtMs);
    const result = await this.post(delivery.url, headers, bytes);
    closeTrace(trace, delivery, result, this.clock.monotonic());
    await this.record(delivery, result, this.since(startedAtMs), claimedAtMs);
  }

  private async post(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: Buffer,
  ): Promise<WebhookAnswer | OutboundError> {
    try {
      return await this.outbound.postWebhook(url, headers, body);
    } catch (error) {
      if (error instanceof OutboundError) return error;
      throw error;
    }
  }

  /** Retries, so that the receiver does not get the event twice because of a short database outage. */
  private async record(
    delivery: ClaimedDelivery,
    result: WebhookAnswer | OutboundError,
    durationMs: number,
    claimedAtMs: number,
  ): Promise<void> {
    const outcome = toOutcome(result);
    const retryAfterSeconds = result instanceof OutboundError ? null : result.retryAfterSeconds;
    const step = nextStep(outcome, delivery.attemptOfRound, retryAfterSeconds, Math.random());
    let state: DeliveryState = step.state;
    for (;;) {
      try {
        state = (await this.deliveries.record(delivery, outcome, durationMs, step)) ?? state;
        break;
      } catch (error) {
        if (this.since(claimedAtMs) > RECORD_WITHIN_MS) {
          this.logger.error({
            message: 'failed to record a webhook attempt; the webhook will be sent again',
            event: 'webhook_record_failed',
            ...idsOf(delivery),
            err: error,
          });
          return;
        }
        await delay(RECORD_PAUSE_MS);
      }
    }
    const { attempt } = delivery;
    this.metrics.webhookDeliveries.of(state === 'pending' ? 'retry' : state).inc();
    this.logger.debug({
      message: 'webhook attempt ended',
      ...idsOf(delivery),
      attempt,
      ...outcome,
      duration_ms: durationMs,
      state,
    });
    if (state === 'exhausted') {
      this.logger.warn({
        message: 'webhook attempts exhausted',
        event: 'webhook_exhausted',
        ...idsOf(delivery),
      });
    }
  }

  private since(startMs: number): number {
    return this.clock.monotonic() - startMs;
  }
}

/** Omits the host, because customers choose it. */
function closeTrace(
  trace: RequestTrace | null,
  { id, jobId, event, attempt }: ClaimedDelivery,
  result: WebhookAnswer | OutboundError,
  endMs: number,
): void {
  const { status, error } = toOutcome(result);
  const attributes = {
    'gateway.delivery_id': id,
    'gateway.job_id': jobId ?? undefined,
    'gateway.event': event,
    'gateway.attempt': attempt,
    'http.response.status_code': status ?? undefined,
    'error.type': error ?? undefined,
  };
  trace?.close(endMs, attributes, error !== null);
}

/** Omits the URL, which may contain credentials. */
function idsOf({ id, jobId, organizationId }: ClaimedDelivery) {
  return { delivery_id: id, job_id: jobId, organization_id: organizationId };
}

/** The body of a test event. Its delivery has the id of the dashboard request. */
function testEventBody({ id, organizationId }: Pick<ClaimedDelivery, 'id' | 'organizationId'>): WebhookBody {
  const text = JSON.stringify({ event: TEST_EVENT, test: true, org_id: organizationId, message: TEST_MESSAGE });
  return { bytes: Buffer.from(text), requestId: toRequestId(id), traceparent: null };
}
