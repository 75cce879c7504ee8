import { toRequestId } from '../../core/types/ids';
import { microToJson } from '../../core/types/micro';
import type { UsageRequest } from '../../contract/dashboard';
import { inputTokensOf, outputTokensOf } from '../../providers/contract/usage';
import { OPERATION_MODALITIES } from '../../billing/usage/operations';
import type { RequestSummary } from '../../billing/usage/usage.types';

export function toRequestReply(request: RequestSummary): UsageRequest {
  return { object: 'usage.request', ...toRequestFields(request) };
}

/** Fields that the list and the receipt share. */
export function toRequestFields(request: RequestSummary): Omit<UsageRequest, 'object'> {
  const { id, usage, httpStatus } = request;
  return {
    id,
    request_id: toRequestId(id),
    created_at: request.createdAt,
    key_id: request.keyId,
    model: request.model,
    provider: request.provider,
    operation: request.operation,
    modality: OPERATION_MODALITIES[request.operation],
    status: httpStatus < 400 ? 'success' : 'error',
    http_status: httpStatus,
    error_code: request.errorCode,
    streamed: request.streamed,
    input_tokens: inputTokensOf(usage),
    output_tokens: outputTokensOf(usage),
    images: usage.images,
    seconds: usage.seconds,
    characters: usage.characters,
    usage_estimated: request.usageEstimated,
    attempt_count: request.attempts,
    first_token_ms: request.firstTokenMs,
    total_ms: request.totalMs,
    cost_micro: microToJson(request.chargedMicro),
  };
}
