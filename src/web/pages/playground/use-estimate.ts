import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { components } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { playgroundKeyId } from '../../api/v1';

type Schemas = components['schemas'];

const QUIET_MS = 500;

/** What the request would be held for and why it might be refused, half a second after its last change. Costs nothing. */
export function useEstimate(
  organizationId: string,
  operation: Schemas['ExplainedOperation'],
  request: object,
  enabled: boolean,
) {
  const text = JSON.stringify(request);
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(text), QUIET_MS);
    return () => window.clearTimeout(timer);
  }, [text]);
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
    enabled,
    staleTime: 30_000,
    retry: false,
    placeholderData: (previous) => previous,
  });
}
