import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import type { operations, WebhookDelivery } from '../../contract/dashboard';
import { nextCursor } from '../ui/pager';
import { api, unwrap } from './client';
import { pollEvery } from './polling';

type DeliveryFilters = Omit<
  NonNullable<operations['listWebhookDeliveries']['parameters']['query']>,
  'cursor' | 'limit'
>;

const DUE_POLL_MS = 3000;
const WAITING_POLL_MS = 30_000;

/** Often while an attempt is due, seldom while the next one lies ahead; never after the end. */
function pollFor(deliveries: readonly WebhookDelivery[]): number | false {
  const next = deliveries.flatMap(({ next_attempt_at: at }) => (at === null ? [] : [Date.parse(at) - Date.now()]));
  if (next.length === 0) return false;
  return pollEvery(Math.max(DUE_POLL_MS, Math.min(...next, WAITING_POLL_MS)))();
}

export const deliveriesQuery = (organizationId: string, filters: DeliveryFilters) =>
  infiniteQueryOptions({
    queryKey: ['organization', organizationId, 'webhooks', 'deliveries', filters],
    queryFn: ({ pageParam, signal }) =>
      unwrap(
        api.GET('/dashboard/api/organizations/{organization_id}/webhook-deliveries', {
          params: { path: { organization_id: organizationId }, query: { ...filters, cursor: pageParam } },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: nextCursor,
    refetchInterval: ({ state }) => pollFor(state.data?.pages.flatMap(({ data }) => data) ?? []),
  });

export const deliveryQuery = (organizationId: string, deliveryId: string) =>
  queryOptions({
    queryKey: ['organization', organizationId, 'webhooks', 'deliveries', deliveryId],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET('/dashboard/api/organizations/{organization_id}/webhook-deliveries/{delivery_id}', {
          params: { path: { organization_id: organizationId, delivery_id: deliveryId } },
          signal,
        }),
      ),
    refetchInterval: ({ state }) => (state.data === undefined ? false : pollFor([state.data.delivery])),
  });

/** The state of the secret, never the secret. */
export const webhookSecretQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['organization', organizationId, 'webhooks', 'secret'],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET('/dashboard/api/organizations/{organization_id}/webhook-secret', {
          params: { path: { organization_id: organizationId } },
          signal,
        }),
      ),
  });
