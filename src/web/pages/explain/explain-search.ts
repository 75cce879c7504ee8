import type { PaidOperation } from '../../../contract/dashboard';
import { OPERATIONS } from '../../api/request-search';
import { oneOf, uuidOf } from '../../app/search-values';

export interface ExplainSearch {
  readonly key?: string;
  readonly operation?: PaidOperation;
  /** The model of the example. */
  readonly model?: string;
}

export function explainSearch(search: Record<string, unknown>): ExplainSearch {
  return { key: uuidOf(search.key), operation: oneOf(search.operation, OPERATIONS), model: modelOf(search.model) };
}

/** The most characters of a model id in a request. */
const LONGEST_MODEL = 200;

function modelOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.includes('/') ? value.slice(0, LONGEST_MODEL) : undefined;
}
