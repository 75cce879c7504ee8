import { PageQuery, QueryOneOf, QueryTime, QueryUuid } from '../../core/validation/query-fields';
import { DELIVERY_STATES, type DeliveryState, WEBHOOK_EVENTS, type WebhookEvent } from '../../webhooks/webhook.types';

/** The query of `listWebhookDeliveries`. */
export class DeliveriesQueryDto extends PageQuery {
  @QueryOneOf(DELIVERY_STATES)
  state?: DeliveryState;

  @QueryUuid()
  job_id?: string;

  @QueryOneOf(WEBHOOK_EVENTS)
  event?: WebhookEvent;

  @QueryTime()
  from?: Date;

  @QueryTime()
  to?: Date;
}
