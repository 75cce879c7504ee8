import type { Micro } from '../core/types/micro';
import type { CatalogModel } from '../models/catalog-model';
import type { InferenceInput } from './inference.types';

/**
 * The headers of every inference response (contract section 4). `servedBy` is the serving model, possibly a fallback;
 * `costMicro` is the charge, or the hold for a stream.
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
