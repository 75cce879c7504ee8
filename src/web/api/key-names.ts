import { queryOptions, useQuery } from '@tanstack/react-query';
import type { ApiKey } from '../../contract/dashboard';
import { api, unwrap } from './client';

/** At most 200 keys are live; older ones are revoked. */
const MOST_PAGES = 4;

/** Live keys and the latest of the revoked ones, newest first. */
export const namedKeysQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['organization', organizationId, 'keys', 'named'],
    queryFn: async ({ signal }) => {
      const keys: ApiKey[] = [];
      let cursor: string | undefined;
      for (let page = 0; page < MOST_PAGES; page++) {
        const { data, next_cursor: next } = await unwrap(
          api.GET('/dashboard/api/organizations/{organization_id}/keys', {
            params: { path: { organization_id: organizationId }, query: { limit: 100, cursor } },
            signal,
          }),
        );
        keys.push(...data);
        if (next === null) break;
        cursor = next;
      }
      return keys;
    },
    staleTime: 30_000,
  });

/** `production …x7Kq`; the start of the id for a key that is not in the list. */
export function keyLabel(keys: readonly ApiKey[] | undefined, keyId: string): string {
  const key = keys?.find(({ id }) => id === keyId);
  return key === undefined ? `${keyId.slice(0, 8)}…` : `${key.name} …${key.last4}`;
}

/** Names of keys by id. */
export function useKeyLabels(organizationId: string): (keyId: string) => string {
  const keys = useQuery(namedKeysQuery(organizationId)).data;
  return (keyId) => keyLabel(keys, keyId);
}
