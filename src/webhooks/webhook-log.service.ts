import { recordAudit } from '../audit/audit-log';
import type { Actor } from '../common/actor';
import { GatewayError } from '../common/errors/gateway-error';
import { type Page, type PageRequest, toPage } from '../common/page';
import { OutboundClient } from '../outbound/outbound-client';
import {
  type DeliveryFilter,
  type DeliveryWithAttempts,
  type WebhookDelivery,
  WebhookLogRepository,
} from './webhook-log.repository';

/** Of one organization, in any minute. */
const MAX_TESTS = 10;
const TEST_WINDOW_SECONDS = 60;
/** A receiver that is asked more often will not get better, and its log must end somewhere. */
const MAX_ATTEMPTS = 1_000;
/** Told of every id that is not one of the organization's deliveries. */
export const NO_DELIVERY = 'There is no such webhook delivery.';

/** The delivery log of an organization, and what its people may set off: sending again, and sending a test. */
export class WebhookLogService {
  /** @param announce tells those who deliver that there is something to do; never rejects */
  constructor(
    private readonly repository: WebhookLogRepository,
    private readonly outbound: OutboundClient,
    private readonly announce: () => Promise<void>,
  ) {}

  /** The newest first. @throws GatewayError `validation_failed` for a cursor that is none */
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
   * Makes a delivery due now, in the state that it returns: one that waits, without another change; one that has ended, with
   * the whole schedule before it. Its id, and so its `webhook-id`, and its log stay.
   * @throws GatewayError `not_found`; `conflict` when the job was deleted, or after 1,000 attempts
   */
  async redeliver(organizationId: string, id: string, actor: Actor): Promise<WebhookDelivery> {
    const redelivered = await this.repository.transaction(async (manager) => {
      const delivery = await this.repository.lock(manager, id, organizationId);
      if (delivery === null) throw new GatewayError('not_found', NO_DELIVERY);
      if (delivery.isOrphaned || delivery.state === 'withdrawn') {
        throw new GatewayError('conflict', 'The job was deleted, so that there is nothing to tell of it.');
      }
      if (delivery.attempts >= MAX_ATTEMPTS) {
        throw new GatewayError(
          'conflict',
          `This webhook has been sent ${delivery.attempts} times and is not sent again.`,
        );
      }
      const again = await this.repository.sendAgain(manager, id);
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
    await this.announce();
    return redelivered;
  }

  /**
   * Makes a delivery of a test event, due now and then treated like any other. It tells of no job.
   * @param id of the request that asks for it: the delivery's id too
   * @throws GatewayError `validation_failed`, `ssrf_blocked`, both with `param`; `rate_limited` beyond ten in a minute
   */
  async sendTest(organizationId: string, url: string, id: string, actor: Actor): Promise<WebhookDelivery> {
    await this.outbound.assertPublicHost(url, 'url');
    const targetHost = new URL(url).hostname;
    const test = await this.repository.transaction(async (manager) => {
      const wait = await this.repository.waitForTest(manager, organizationId, TEST_WINDOW_SECONDS, MAX_TESTS);
      if (wait > 0) {
        throw new GatewayError('rate_limited', `An organization may send ${MAX_TESTS} test webhooks in a minute.`, {
          retryAfterSeconds: Math.max(1, Math.ceil(wait)),
          details: { scope: 'organization', limit: MAX_TESTS, window: 'minute' },
        });
      }
      const delivery = await this.repository.addTest(manager, { id, organizationId, url, targetHost });
      await recordAudit(manager, {
        organizationId,
        actor,
        action: 'webhook_test.sent',
        target: { type: 'webhook_delivery', id },
        // The rest of the address may hold what lets others in.
        after: { host: targetHost },
      });
      return delivery;
    });
    await this.announce();
    return test;
  }
}
