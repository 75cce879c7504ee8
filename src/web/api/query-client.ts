import { QueryClient } from '@tanstack/react-query';
import { isApiError } from './errors';

const MAX_RETRIES = 3;
const RETRY_DELAY_MS = 1000;
const LONGEST_RETRY_DELAY_MS = 30_000;

/** Only reads are repeated, and only if the reply allows it. */
export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 5000,
        retry: (failures, error) => isApiError(error) && error.shouldRetry && failures < MAX_RETRIES,
        retryDelay: (failures, error) =>
          isApiError(error) && error.retryAfterSeconds !== undefined
            ? Math.min(error.retryAfterSeconds * 1000, LONGEST_RETRY_DELAY_MS)
            : RETRY_DELAY_MS * 2 ** failures,
        networkMode: 'always',
      },
      mutations: { retry: false, networkMode: 'always' },
    },
  });
}
