import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import type { operations, PurchaseStatus } from '../../contract/dashboard';
import { nextCursor } from '../ui/pager';
import { api, unwrap } from './client';
import { pollEvery } from './polling';

type LedgerFilters = NonNullable<operations['exportLedger']['parameters']['query']>;

export const ledgerQuery = (organizationId: string, filters: LedgerFilters) =>
  infiniteQueryOptions({
    queryKey: ['organization', organizationId, 'billing', 'ledger', filters],
    queryFn: ({ pageParam, signal }) =>
      unwrap(
        api.GET('/dashboard/api/organizations/{organization_id}/billing/ledger', {
          params: { path: { organization_id: organizationId }, query: { ...filters, cursor: pageParam } },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: nextCursor,
  });

/** The address of the ledger as a CSV file. */
export function ledgerCsvUrl(organizationId: string, filters: LedgerFilters): string {
  const query = new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== undefined));
  return `/dashboard/api/organizations/${organizationId}/billing/ledger.csv?${query}`;
}

const HOLDS_POLL_MS = 5000;

export const holdsQuery = (organizationId: string) =>
  infiniteQueryOptions({
    queryKey: ['organization', organizationId, 'billing', 'holds'],
    queryFn: ({ pageParam, signal }) =>
      unwrap(
        api.GET('/dashboard/api/organizations/{organization_id}/billing/holds', {
          params: { path: { organization_id: organizationId }, query: { cursor: pageParam } },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: nextCursor,
    refetchInterval: pollEvery(HOLDS_POLL_MS),
  });

export const purchasesQuery = (organizationId: string) =>
  infiniteQueryOptions({
    queryKey: ['organization', organizationId, 'billing', 'purchases', 'list'],
    queryFn: ({ pageParam, signal }) =>
      unwrap(
        api.GET('/dashboard/api/organizations/{organization_id}/billing/purchases', {
          params: { path: { organization_id: organizationId }, query: { cursor: pageParam } },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: nextCursor,
  });

const PURCHASE_POLL_MS = 1000;
const PURCHASE_POLLS = 60;
const OPEN: ReadonlySet<PurchaseStatus> = new Set(['pending', 'processing']);

/** @param isAwaited the buyer has paid: read until the payment is confirmed, for at most a minute. */
export const purchaseQuery = (organizationId: string, purchaseId: string, isAwaited: boolean) =>
  queryOptions({
    queryKey: ['organization', organizationId, 'billing', 'purchases', purchaseId],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET('/dashboard/api/organizations/{organization_id}/billing/purchases/{purchase_id}', {
          params: { path: { organization_id: organizationId, purchase_id: purchaseId } },
          signal,
        }),
      ),
    refetchInterval: ({ state }) =>
      isAwaited &&
      state.data !== undefined &&
      OPEN.has(state.data.status) &&
      state.dataUpdateCount < PURCHASE_POLLS &&
      pollEvery(PURCHASE_POLL_MS)(),
  });
