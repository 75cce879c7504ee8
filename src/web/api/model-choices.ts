import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from './client';

/** The served models, for choices in filters and examples. */
export const modelChoicesQuery = queryOptions({
  queryKey: ['models', 'choices'],
  queryFn: async ({ signal }) => {
    const { data } = await unwrap(api.GET('/dashboard/api/models', { signal }));
    return data.map(({ id, modality }) => ({ id, modality }));
  },
  staleTime: 300_000,
});
