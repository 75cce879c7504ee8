import type { ChatRequest } from '../../contract/chat';
import type { DeploymentTraits, ModelFeatures, Quirks } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import { isJsonObject } from '../../kit/json-object';

/**
 * Refuses what the model or its upstream does not support and what must not be dropped silently. Features that the
 * catalogue does not mention are left to the upstream.
 * @throws ProviderError `validation_failed` with `param`
 */
export function checkSupport(request: ChatRequest, { features, quirks }: DeploymentTraits): void {
  checkNoRejectedFields(request, quirks);
  if (features.tools === false && !isUnused('tools', request['tools'])) throw unsupported('tools');
  if (features.logprobs === false && request['logprobs'] === true) throw unsupported('logprobs');
  checkResponseFormat(request['response_format'], features);
  checkReasoningEffort(request['reasoning_effort'], features);
  if (features.vision === false) checkNoImages(request);
}

/** @throws ProviderError `validation_failed` with `param` for a field that must not be dropped silently */
export function checkNoRejectedFields(
  request: Readonly<Record<string, unknown>>,
  { rejectFields = [] }: Pick<Quirks, 'rejectFields'>,
): void {
  for (const field of rejectFields) {
    if (!isUnused(field, request[field])) throw unsupported(field);
  }
}

/** Whether a field's value has no effect, so that dropping it changes nothing. */
export function isUnused(field: string, value: unknown): boolean {
  if (value === null || value === undefined) return true;
  if (field === 'parallel_tool_calls') return value === true;
  if (value === false) return true;
  return Array.isArray(value) ? value.length === 0 : isJsonObject(value) && Object.keys(value).length === 0;
}

function checkResponseFormat(format: unknown, features: ModelFeatures): void {
  if (!isJsonObject(format)) return;
  // A catalogue row with JSON mode that does not mention schemas describes a model without them.
  const schemas = features.json_schema ?? features.json_object !== true;
  if (format['type'] === 'json_schema' && !schemas) {
    throw unsupported('response_format', 'This model does not support response_format json_schema.');
  }
  if (format['type'] === 'json_object' && features.json_object === false) {
    throw unsupported('response_format', 'This model does not support response_format json_object.');
  }
}

function checkReasoningEffort(effort: unknown, { reasoning }: ModelFeatures): void {
  if (typeof effort !== 'string' || reasoning === undefined || reasoning.includes(effort)) return;
  const accepted = reasoning.length === 0 ? 'none of its values' : reasoning.join(', ');
  throw unsupported('reasoning_effort', `This model accepts as reasoning_effort: ${accepted}.`);
}

function checkNoImages({ messages }: ChatRequest): void {
  messages.forEach(({ content }, i) => {
    if (!Array.isArray(content)) return;
    const j = content.findIndex((part) => isJsonObject(part) && part['type'] === 'image_url');
    if (j >= 0) throw unsupported(`messages[${i}].content[${j}]`, 'This model does not take images.');
  });
}

/** Refused before anything is sent, so failover to another deployment is possible. */
export function unsupported(param: string, message = `This model does not support ${param}.`): ProviderError {
  return new ProviderError('validation_failed', message, { phase: 'connect', fallback: false, param });
}
