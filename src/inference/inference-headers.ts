import type { Micro } from '../common/micro';
import type { CatalogModel } from '../models/catalog-model';
import type { InferenceInput } from './inference.types';

/**
 * The headers of every inference answer (contract section 4). `servedBy` is the model that answers, be it a fallback;
 * `costMicro` is exact, or for a stream what is held.
 */
export function inferenceHeaders(
  input: InferenceInput,
  servedBy: CatalogModel,
  costMicro: Micro,
): Record<string, string> {
  return {
    ...input.context.rateLimitHeaders,
    'x-request-id': input.context.requestId,
    'x-llm-model': servedBy.id,
    'x-llm-cost-micro': String(costMicro),
  };
}
