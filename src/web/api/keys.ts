import { infiniteQueryOptions, keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query';
import type { ApiKey, operations } from '../../contract/dashboard';
import { isolated } from '../format/direction';
import { nextCursor } from '../ui/pager';
import { api, unwrap } from './client';

const PAGE_SIZE = 100;

type ListParameters = NonNullable<operations['listApiKeys']['parameters']['query']>;

export type ApiKeyOrder = NonNullable<ListParameters['order']>;

interface KeySearch {
  readonly search?: string;
  readonly order?: ApiKeyOrder;
}

/** Every query about keys begins with this. */
export const keysKey = (organizationId: string) => ['organization', organizationId, 'keys'] as const;

/** Keys that are not revoked, in pages. */
export const liveKeysQuery = (organizationId: string, { search, order }: KeySearch) =>
  infiniteQueryOptions({
    queryKey: [...keysKey(organizationId), 'live', { search, order }],
    queryFn: ({ signal, pageParam }) =>
      readPage(organizationId, { revoked: false, search, order, cursor: pageParam }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: nextCursor,
    // The list stays while the next search of the same organization loads.
    placeholderData: (previous, query) => (query?.queryKey[1] === organizationId ? previous : undefined),
  });

/** The newest keys that are not revoked and match the text. */
export const foundKeysQuery = (organizationId: string, text: string) =>
  queryOptions({
    queryKey: [...keysKey(organizationId), 'found', text],
    queryFn: async ({ signal }) => (await readPage(organizationId, { revoked: false, search: text }, signal)).data,
    placeholderData: keepPreviousData,
  });

/** All keys that are not revoked, newest first, for a choice among them. */
export const allLiveKeysQuery = (organizationId: string) =>
  queryOptions({
    queryKey: [...keysKey(organizationId), 'all'],
    queryFn: ({ signal }) => readAllLive(organizationId, signal),
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

/** Keys that lists and charts name: live ones, then the latest that are revoked or of the playground. */
export const namedKeysQuery = (organizationId: string) =>
  queryOptions({
    queryKey: [...keysKey(organizationId), 'named'],
    queryFn: async ({ signal }) => {
      const [live, revoked, playground] = await Promise.all([
        readAllLive(organizationId, signal),
        readPage(organizationId, { status: 'revoked' }, signal),
        readPage(organizationId, { kind: 'playground' }, signal),
      ]);
      return [...live, ...revoked.data, ...playground.data];
    },
    staleTime: 30_000,
  });

/** `production …x7Kq`, by id; the start of the id for a key that is not known. */
export function useKeyLabels(organizationId: string): (keyId: string) => string {
  const keys = useQuery(namedKeysQuery(organizationId)).data;
  return (keyId) =>
    keyLabel(
      keys?.find(({ id }) => id === keyId),
      keyId,
    );
}

/** `production …x7Kq`; the start of the id for a key that is not known. */
export function keyLabel(key: ApiKey | undefined, keyId: string): string {
  if (key === undefined) return `${keyId.slice(0, 8)}…`;
  return key.kind === 'playground' ? key.name : `${isolated(key.name)} …${key.last4}`;
}

/** Choices for a filter, by id, with a key that is not in the list if it is chosen. */
export function useKeyOptions(
  organizationId: string,
  chosenId: string | undefined,
): ReadonlyArray<readonly [string, string]> {
  const keys = useQuery(namedKeysQuery(organizationId)).data ?? [];
  const known = keys.map((key) => [key.id, keyLabel(key, key.id)] as const);
  if (chosenId === undefined || keys.some(({ id }) => id === chosenId)) return known;
  return [...known, [chosenId, keyLabel(undefined, chosenId)]];
}

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

async function readAllLive(organizationId: string, signal: AbortSignal): Promise<ApiKey[]> {
  const keys: ApiKey[] = [];
  let cursor: string | undefined;
  do {
    const page = await readPage(organizationId, { revoked: false, cursor }, signal);
    keys.push(...page.data);
    cursor = nextCursor(page);
  } while (cursor !== undefined);
  return keys;
}

function readPage(organizationId: string, filter: ListParameters, signal: AbortSignal) {
  return unwrap(
    api.GET('/dashboard/api/organizations/{organization_id}/keys', {
      params: { path: { organization_id: organizationId }, query: { ...filter, limit: PAGE_SIZE } },
      signal,
    }),
  );
}
