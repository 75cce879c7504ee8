import { queryOptions } from '@tanstack/react-query';
import type { Model } from '../../contract/dashboard';
import { api, unwrap } from './client';

export type ModelModality = Model['modality'];

export const MODEL_MODALITIES: readonly ModelModality[] = [
  'text',
  'embedding',
  'image',
  'speech',
  'transcription',
  'video',
  'music',
];

const PRICES_CHANGE_MS = 60_000;

/** Every served model with its prices, sorted by id. */
export const modelsQuery = queryOptions({
  queryKey: ['models'],
  queryFn: async ({ signal }): Promise<readonly Model[]> =>
    (await unwrap(api.GET('/dashboard/api/models', { signal }))).data,
  staleTime: PRICES_CHANGE_MS,
});
