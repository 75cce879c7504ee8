import type { Micro } from '../common/micro';
import type { InferenceInput } from './inference.types';

/** The headers of every inference answer (contract section 4). `costMicro` is exact, or for a stream what is held. */
export function inferenceHeaders(input: InferenceInput, costMicro: Micro): Record<string, string> {
  return {
    'x-request-id': input.context.requestId,
    'x-llm-model': input.model.id,
    'x-llm-cost-micro': String(costMicro),
  };
}
