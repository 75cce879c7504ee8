import type { RequestFilters } from '../../api/request-search';

/** Names of the filters within a sentence. */
export const FILTER_WORDS: Readonly<Record<keyof RequestFilters, string>> = {
  from: 'period',
  to: 'period',
  key_id: 'API key',
  model: 'model',
  status: 'status',
  modality: 'modality',
  operation: 'operation',
  error_code: 'error code',
  provider: 'provider',
  min_cost_micro: 'cost',
  min_total_ms: 'duration',
};
