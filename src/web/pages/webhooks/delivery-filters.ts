import { dayOf, oneOf, uuidOf } from '../../app/search-values';

export const DELIVERY_STATES = ['pending', 'delivered', 'exhausted', 'gone', 'withdrawn'] as const;
export const WEBHOOK_EVENTS = ['job.completed', 'job.failed', 'webhook.test'] as const;

/** The filters of the list of deliveries, as they are in the URL; days are UTC, the last one included. */
export interface DeliverySearch {
  readonly state?: (typeof DELIVERY_STATES)[number];
  readonly event?: (typeof WEBHOOK_EVENTS)[number];
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
