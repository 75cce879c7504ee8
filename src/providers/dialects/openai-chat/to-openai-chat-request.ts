import type { ChatRequest } from '../../contract/chat';
import type { ProviderCall, Quirks } from '../../contract/provider-call';
import type { JsonObject } from '../../kit/json-object';
import { checkSupport, isUnused } from './request-support';
import { toUpstreamMessages } from './to-upstream-messages';

/** Set below, or not meant for an upstream. */
const HANDLED_FIELDS: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'stream',
  'stream_options',
  'n',
  'max_tokens',
  'max_completion_tokens',
  'routing',
]);

/** Fields that models without `sampling` refuse with 400. Dropped, since many clients always send them. */
const SAMPLING_FIELDS: ReadonlySet<string> = new Set([
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'presence_penalty',
  'frequency_penalty',
]);

/**
 * The body for the upstream (sheet A). Pure; the request is not changed.
 * @throws ProviderError `validation_failed` with `param` for features that this model or upstream does not support
 */
export function toOpenAiChatRequest(request: ChatRequest, call: ProviderCall, stream: boolean): JsonObject {
  checkSupport(request, call);
  const { quirks } = call;
  const body: JsonObject = { model: call.upstreamModel, messages: toUpstreamMessages(request.messages, quirks) };
  for (const field of Object.keys(request)) {
    if (isForwarded(field, request[field], call)) body[field] = request[field];
  }
  addOutputLimit(body, request, quirks);
  if (stream) addStreaming(body, quirks);
  return body;
}

function isForwarded(field: string, value: unknown, { quirks, features }: ProviderCall): boolean {
  if (value === null || value === undefined || HANDLED_FIELDS.has(field) || field.startsWith('x_')) return false;
  if (features.sampling === false && SAMPLING_FIELDS.has(field)) return false;
  // The model never makes parallel calls, so both values of the field are satisfied.
  if (field === 'parallel_tool_calls' && features.parallel_tools === false) return false;
  if (quirks.rejectFields?.includes(field) === true && isUnused(field, value)) return false;
  return quirks.dropFields?.includes(field) !== true;
}

/** If both limits are present, the smaller applies. */
function addOutputLimit(body: JsonObject, request: ChatRequest, { maxTokensField }: Quirks): void {
  const { max_tokens: older, max_completion_tokens: newer } = request;
  const limit = older == null ? newer : newer == null ? older : Math.min(older, newer);
  if (limit == null) return;
  body[maxTokensField ?? (newer == null ? 'max_tokens' : 'max_completion_tokens')] = limit;
}

function addStreaming(body: JsonObject, { streamUsage, includeObfuscation }: Quirks): void {
  body['stream'] = true;
  if (streamUsage === 'none') return;
  body['stream_options'] = {
    include_usage: true,
    ...(includeObfuscation !== undefined && { include_obfuscation: includeObfuscation }),
  };
}
