import { Inject, Injectable } from '@nestjs/common';
import { recordAudit } from '../core/database/audit-log';
import type { Actor } from '../core/types/actor';
import { GatewayError } from '../core/errors/gateway-error';
import { type Page, type PageRequest, toPage } from '../core/types/page';
import { OutboundClient } from '../core/outbound/outbound-client';
import { hostOf } from '../core/outbound/url-rules';
import {
  type DeliveryFilter,
  type DeliveryWithAttempts,
  type WebhookDelivery,
  WebhookLogRepository,
} from './webhook-log.repository';
import { WebhookWakeUps } from './webhook-wake-ups';

/** Per organization and minute. */
const MAX_TESTS = 10;
const TEST_WINDOW_SECONDS = 60;
/** Bounds the log of a delivery that is sent again repeatedly. */
const MAX_ATTEMPTS = 1_000;
/** The message for any id that is not a delivery of the organization. */
export const NO_DELIVERY = 'There is no such webhook delivery.';

/** The delivery log of an organization, redelivery and test webhooks. */
@Injectable()
export class WebhookLogService {
  constructor(
    private readonly repository: WebhookLogRepository,
    private readonly outbound: OutboundClient,
    @Inject(WebhookWakeUps) private readonly wakeUps: Pick<WebhookWakeUps, 'wake'>,
  ) {}

  /** Newest first. @throws GatewayError `validation_failed` for an invalid cursor */
  async list(organizationId: string, filter: DeliveryFilter, page: PageRequest): Promise<Page<WebhookDelivery>> {
    const rows = await this.repository.list(organizationId, filter, page);
    return toPage(rows, page.limit, ({ createdAtText, id }) => [createdAtText, id]);
  }

  /** @throws GatewayError `not_found` */
  async get(organizationId: string, id: string): Promise<DeliveryWithAttempts> {
    const delivery = await this.repository.find(id, organizationId);
    if (delivery === null) throw new GatewayError('not_found', NO_DELIVERY);
    return delivery;
  }

  ofJob(organizationId: string, jobId: string): Promise<WebhookDelivery[]> {
    return this.repository.findOfJob(jobId, organizationId);
  }

  /**
   * Makes a delivery due now and returns it. A pending delivery keeps its schedule; an ended one restarts it. The id,
   * which is the `webhook-id`, and the log stay.
   * @throws GatewayError `not_found`; `conflict` when the job was deleted, or after 1,000 attempts
   */
  async redeliver(organizationId: string, id: string, actor: Actor): Promise<WebhookDelivery> {
    const redelivered = await this.repository.transaction(async (manager) => {
      const delivery = await this.repository.lock(manager, id, organizationId);
      if (delivery === null) throw new GatewayError('not_found', NO_DELIVERY);
      if (delivery.isOrphaned || delivery.state === 'withdrawn') {
        throw new GatewayError('conflict', 'The job was deleted, so this webhook cannot be sent again.');
      }
      if (delivery.attempts >= MAX_ATTEMPTS) {
        throw new GatewayError(
          'conflict',
          `This webhook has been sent ${delivery.attempts} times and cannot be sent again.`,
        );
      }
      const again = await this.repository.sendAgain(manager, delivery);
      await recordAudit(manager, {
        organizationId,
        actor,
        action: 'webhook_delivery.redelivered',
        target: { type: 'webhook_delivery', id },
        before: { state: delivery.state, attempts: delivery.attempts },
        after: { state: again.state, attempts: again.attempts },
      });
      return again;
    });
    await this.wakeUps.wake(redelivered);
    return redelivered;
  }

  /**
   * Creates a delivery of a test event, due now and handled like any other.
   * @param id request id, which becomes the delivery's id
   * @throws GatewayError `validation_failed`, `ssrf_blocked`, both with `param`; `rate_limited` beyond ten in a minute
   */
  async sendTest(organizationId: string, url: string, id: string, actor: Actor): Promise<WebhookDelivery> {
    await this.outbound.assertPublicHost(url, 'url');
    const targetHost = hostOf(new URL(url));
    const test = await this.repository.transaction(async (manager) => {
      const wait = await this.repository.waitForTest(manager, organizationId, TEST_WINDOW_SECONDS, MAX_TESTS);
      if (wait > 0) {
        throw new GatewayError(
          'rate_limited',
          `An organization may send at most ${MAX_TESTS} test webhooks per minute.`,
          {
            retryAfterSeconds: Math.max(1, Math.ceil(wait)),
            details: { scope: 'organization', limit: MAX_TESTS, window: 'minute' },
          },
        );
      }
      const delivery = await this.repository.addTest(manager, { id, organizationId, url, targetHost });
      await recordAudit(manager, {
        organizationId,
        actor,
        action: 'webhook_test.sent',
        target: { type: 'webhook_delivery', id },
        // The rest of the URL may contain credentials.
        after: { host: targetHost },
      });
      return delivery;
    });
    await this.wakeUps.wake(test);
    return test;
  }
}
