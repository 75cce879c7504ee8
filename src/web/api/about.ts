import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from './client';

/** Facts of the deployment: whether mails are sent, and whether users can register. */
export const aboutQuery = queryOptions({
  queryKey: ['about'],
  queryFn: ({ signal }) => unwrap(api.GET('/dashboard/api/about', { signal })),
  staleTime: 600_000,
});
