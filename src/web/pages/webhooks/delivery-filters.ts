import type { DeliveryState, WebhookEvent } from '../../../contract/dashboard';
import { allOf, dayOf, oneOf, uuidOf } from '../../app/search-values';

export const DELIVERY_STATES = allOf<DeliveryState>({
  pending: true,
  delivered: true,
  exhausted: true,
  gone: true,
  withdrawn: true,
});
export const WEBHOOK_EVENTS = allOf<WebhookEvent>({ 'job.completed': true, 'job.failed': true, 'webhook.test': true });

/** The filters of the list of deliveries, as they are in the URL; days are UTC, the last one included. */
export interface DeliverySearch {
  readonly state?: DeliveryState;
  readonly event?: WebhookEvent;
  readonly job?: string;
  readonly from?: string;
  readonly to?: string;
}

export interface WebhookSearch extends DeliverySearch {
  readonly tab?: 'signing';
}

export function webhookSearch(search: Record<string, unknown>): WebhookSearch {
  return {
    tab: oneOf(search.tab, ['signing']),
    state: oneOf(search.state, DELIVERY_STATES),
    event: oneOf(search.event, WEBHOOK_EVENTS),
    job: uuidOf(search.job),
    from: dayOf(search.from),
    to: dayOf(search.to),
  };
}
