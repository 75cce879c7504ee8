import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import type { ApiKey, ApiKeyStatus, operations } from '../../contract/dashboard';
import { nextCursor } from '../ui/pager';
import { api, unwrap } from './client';

const PAGE_SIZE = 100;
const LIVE: readonly ApiKeyStatus[] = ['active', 'disabled', 'expired'];

/** Every query about keys begins with this. */
export const keysKey = (organizationId: string) => ['organization', organizationId, 'keys'] as const;

/** All keys that are not revoked, newest first. Their number is limited, so the page sorts and searches by itself. */
export const liveKeysQuery = (organizationId: string) =>
  queryOptions({
    queryKey: [...keysKey(organizationId), 'live'],
    queryFn: async ({ signal }) => {
      const lists = await Promise.all(LIVE.map((status) => readAll(organizationId, status, signal)));
      return lists.flat().toSorted((one, other) => other.created_at.localeCompare(one.created_at));
    },
  });

/** Revoked keys, newest first. */
export const revokedKeysQuery = (organizationId: string) =>
  infiniteQueryOptions({
    queryKey: [...keysKey(organizationId), 'revoked'],
    queryFn: ({ signal, pageParam }) => readPage(organizationId, { status: 'revoked', cursor: pageParam }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: nextCursor,
  });

/** Keys of members for the playground. */
export const playgroundKeysQuery = (organizationId: string) =>
  infiniteQueryOptions({
    queryKey: [...keysKey(organizationId), 'playground'],
    queryFn: ({ signal, pageParam }) => readPage(organizationId, { kind: 'playground', cursor: pageParam }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: nextCursor,
  });

export const keyQuery = (organizationId: string, keyId: string) =>
  queryOptions({
    queryKey: [...keysKey(organizationId), 'one', keyId],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET('/dashboard/api/organizations/{organization_id}/keys/{key_id}', {
          params: { path: { organization_id: organizationId, key_id: keyId } },
          signal,
        }),
      ),
  });

async function readAll(organizationId: string, status: ApiKeyStatus, signal: AbortSignal): Promise<ApiKey[]> {
  const keys: ApiKey[] = [];
  let cursor: string | undefined;
  do {
    const page = await readPage(organizationId, { status, cursor }, signal);
    keys.push(...page.data);
    cursor = nextCursor(page);
  } while (cursor !== undefined);
  return keys;
}

type ListParameters = NonNullable<operations['listApiKeys']['parameters']['query']>;

function readPage(organizationId: string, filter: ListParameters, signal: AbortSignal) {
  return unwrap(
    api.GET('/dashboard/api/organizations/{organization_id}/keys', {
      params: { path: { organization_id: organizationId }, query: { ...filter, limit: PAGE_SIZE } },
      signal,
    }),
  );
}
