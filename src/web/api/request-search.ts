import type { operations, ModalityGroup, PaidOperation } from '../../contract/dashboard';
import { momentOf, oneOf, textOf, uuidOf } from '../app/search-values';
import { MOST } from '../format/limits';

type ListParameters = NonNullable<operations['listRequests']['parameters']['query']>;
/** What the list and the export take. */
export type RequestFilters = Omit<ListParameters, 'limit' | 'cursor'>;

const RANGES = ['1h', '24h', '7d', '30d'] as const;
export type RequestRange = (typeof RANGES)[number];

export const MODALITIES: readonly ModalityGroup[] = [
  'text',
  'embedding',
  'image',
  'speech',
  'transcription',
  'audio',
  'video',
  'music',
];
export const OPERATIONS: readonly PaidOperation[] = [
  'createChatCompletion',
  'createCompletion',
  'createResponse',
  'createEmbedding',
  'createImage',
  'createImageEdit',
  'createSpeech',
  'createTranscription',
  'createVideo',
  'createMusic',
];

/** The filters of the requests page, as in its address. A range stays relative to now; it wins over `from` and `to`. */
export interface RequestSearch extends RequestFilters {
  readonly range?: RequestRange;
}

/** The address of the requests page: the filters, and the id of the request whose receipt is open next to the list. */
export interface RequestsPageSearch extends RequestSearch {
  readonly request?: string;
}

export function requestsPageSearch(search: Record<string, unknown>): RequestsPageSearch {
  return { ...requestSearch(search), request: textOf(search.request) };
}

export function requestSearch(search: Record<string, unknown>): RequestSearch {
  return {
    range: oneOf(search.range, RANGES),
    from: momentOf(search.from),
    to: momentOf(search.to),
    key_id: uuidOf(search.key_id),
    model: textOf(search.model, 200),
    status: oneOf(search.status, ['success', 'error']),
    modality: oneOf(search.modality, MODALITIES),
    operation: oneOf(search.operation, OPERATIONS),
    error_code: textOf(search.error_code, 64),
    provider: textOf(search.provider, 100),
    min_cost_micro: countOf(search.min_cost_micro, MOST.filteredCostMicro),
    min_total_ms: countOf(search.min_total_ms, MOST.filteredDurationMs),
  };
}

function countOf(value: unknown, most: number): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= most ? value : undefined;
}

const HOUR_MS = 3_600_000;
export const RANGE_HOURS: Readonly<Record<RequestRange, number>> = { '1h': 1, '24h': 24, '7d': 168, '30d': 720 };

/** The filters as the API takes them now. */
export function filtersOf({ range, ...filters }: RequestSearch, nowMs = Date.now()): RequestFilters {
  if (range === undefined) return filters;
  return { ...filters, from: new Date(nowMs - RANGE_HOURS[range] * HOUR_MS).toISOString(), to: undefined };
}
