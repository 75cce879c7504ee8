import { useQuery } from '@tanstack/react-query';
import type { components } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { playgroundKeyId } from '../../api/v1';
import { useSettled } from '../../ui/use-settled';

type Schemas = components['schemas'];

const QUIET_MS = 500;
/** Larger requests, for example with pictures, are not sent twice only to estimate them. */
const MAX_CHARACTERS = 100_000;

/**
 * What the request would be held for and why it might be refused, half a second after its last change. Costs nothing.
 */
export function useEstimate(
  organizationId: string,
  operation: Schemas['PaidOperation'],
  request: object,
  enabled: boolean,
) {
  const settled = useSettled(JSON.stringify(request), QUIET_MS);
  return useQuery({
    queryKey: ['organization', organizationId, 'explain', operation, settled],
    queryFn: async ({ signal }) =>
      unwrap(
        api.POST('/dashboard/api/explain', {
          body: {
            key_id: await playgroundKeyId(organizationId),
            operation,
            request: JSON.parse(settled) as Record<string, unknown>,
          },
          signal,
        }),
      ),
    enabled: enabled && settled.length <= MAX_CHARACTERS,
    staleTime: 30_000,
    // The key has the prompt, which must not stay in memory.
    gcTime: 0,
    retry: false,
    placeholderData: (previous) => previous,
  });
}
