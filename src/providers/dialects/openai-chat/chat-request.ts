import { createHash } from 'node:crypto';
import { type ChatMessage, type ChatRequest, SAMPLING_FIELDS, STANDARD_SERVICE_TIERS } from '../../contract/chat';
import type { DeploymentTraits, ModelFeatures, ProviderCall, Quirks } from '../../contract/provider-call';
import { isJsonObject, type JsonObject } from '../../kit/json';
import { unsupported } from '../../kit/unsupported';
import { toLogprobsCount } from './logprobs';
import { toReasoningDetails } from './reasoning-details';

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

/**
 * The body for the upstream (sheet A). Pure; the request is not changed.
 * @throws ProviderError `validation_failed` with `param` for features that this model or upstream does not support
 */
export function toOpenAiChatRequest(request: ChatRequest, call: ProviderCall, stream: boolean): JsonObject {
  checkSupport(request, call);
  const { quirks } = call;
  const body: JsonObject = { model: call.upstreamModel, messages: toUpstreamMessages(request.messages, quirks) };
  for (const field of Object.keys(request)) {
    if (isForwarded(field, request[field], call)) {
      body[quirks.fieldNames?.[field] ?? field] = toUpstreamValue(field, request[field], call);
    }
  }
  addOutputLimit(body, request, quirks);
  const logprobs = quirks.logprobLists === true ? toLogprobsCount(request) : null;
  if (logprobs !== null) body['logprobs'] = logprobs;
  if (quirks.reasoningDetails === true) body['reasoning_split'] = true;
  if (stream) addStreaming(body, quirks);
  return body;
}

function isForwarded(field: string, value: unknown, { quirks, features }: ProviderCall): boolean {
  if (value === null || value === undefined || HANDLED_FIELDS.has(field) || field.startsWith('x_')) return false;
  if (features.sampling === false && SAMPLING_FIELDS.has(field)) return false;
  if (quirks.logprobLists === true && (field === 'logprobs' || field === 'top_logprobs')) return false;
  // The model never makes parallel calls, so both values of the field are satisfied.
  if (field === 'parallel_tool_calls' && features.parallel_tools === false) return false;
  return accepts(field, quirks);
}

/** Whether the upstream accepts the field, given that it is not used where it would be refused. */
function accepts(field: string, { acceptFields, dropFields, rejectFields }: Quirks): boolean {
  if (rejectFields?.includes(field) === true || dropFields?.includes(field) === true) return false;
  return acceptFields?.includes(field) !== false;
}

function toUpstreamValue(field: string, value: unknown, { features, quirks }: ProviderCall): unknown {
  if (field === 'temperature' && typeof value === 'number') return Math.max(value, quirks.minTemperature ?? value);
  if (field !== 'reasoning_effort' || typeof value !== 'string' || features.reasoning !== undefined) return value;
  return quirks.reasoningEfforts?.[value] ?? value;
}

function addOutputLimit(body: JsonObject, request: ChatRequest, { maxTokensField }: Quirks): void {
  const limit = outputLimit(request);
  if (limit === null) return;
  body[maxTokensField ?? (request.max_completion_tokens == null ? 'max_tokens' : 'max_completion_tokens')] = limit;
}

/** The smaller of both limits; `null` without any. */
export function outputLimit({ max_tokens: older, max_completion_tokens: newer }: ChatRequest): number | null {
  if (older == null) return newer ?? null;
  return newer == null ? older : Math.min(older, newer);
}

function addStreaming(body: JsonObject, { streamUsage, includeObfuscation }: Quirks): void {
  body['stream'] = true;
  if (streamUsage === 'none') return;
  body['stream_options'] = {
    include_usage: true,
    ...(includeObfuscation !== undefined && { include_obfuscation: includeObfuscation }),
  };
}

/** The conversation in the upstream's format. Messages that need no change are shared, not copied. */
function toUpstreamMessages(messages: readonly ChatMessage[], quirks: Quirks): readonly ChatMessage[] {
  return messages.some((message) => needsChange(message, quirks))
    ? messages.map((message) => (needsChange(message, quirks) ? toUpstreamMessage(message, quirks) : message))
    : messages;
}

function needsChange(message: ChatMessage, quirks: Quirks): boolean {
  return (
    (message.role === 'developer' && quirks.developerRole !== true) ||
    (message['reasoning_content'] !== undefined &&
      (quirks.reasoningReplay !== true || quirks.reasoningDetails === true)) ||
    hasEmptyTextBesideToolCalls(message) ||
    quirks.dropMessageFields?.some((field) => message[field] !== undefined) === true ||
    (quirks.shortToolCallIds === true && (message['tool_calls'] ?? message['tool_call_id']) != null)
  );
}

function toUpstreamMessage(message: ChatMessage, quirks: Quirks): ChatMessage {
  const { reasoning_content: reasoning, ...rest } = message;
  const { dropMessageFields = [] } = quirks;
  return {
    ...Object.fromEntries(Object.entries(rest).filter(([field]) => !dropMessageFields.includes(field))),
    ...(quirks.reasoningReplay === true && reasoning !== undefined && returnedReasoning(reasoning, quirks)),
    ...(quirks.shortToolCallIds === true && toShortIds(message)),
    role: message.role === 'developer' && quirks.developerRole !== true ? 'system' : message.role,
    ...(hasEmptyTextBesideToolCalls(message) && { content: null }),
  };
}

function returnedReasoning(reasoning: unknown, { reasoningDetails }: Quirks): JsonObject {
  return reasoningDetails === true ? toReasoningDetails(reasoning) : { reasoning_content: reasoning };
}

/** The members of a message that hold ids of tool calls, with short ids. */
function toShortIds({ tool_calls: calls, tool_call_id: callId }: ChatMessage): JsonObject {
  return {
    ...(Array.isArray(calls) && {
      tool_calls: calls.map((call: unknown) => (isJsonObject(call) ? { ...call, id: toShortId(call['id']) } : call)),
    }),
    ...(callId != null && { tool_call_id: toShortId(callId) }),
  };
}

/** The same id for the call and its result: a pure function, so that it also holds across requests. */
function toShortId(id: unknown): unknown {
  if (typeof id !== 'string' || /^[A-Za-z0-9]{9}$/.test(id)) return id;
  return createHash('sha256').update(id).digest('hex').slice(0, 9);
}

/** Clients write `''` where the format has null; some upstreams refuse empty text. */
function hasEmptyTextBesideToolCalls({ role, content, tool_calls: toolCalls }: ChatMessage): boolean {
  return role === 'assistant' && content === '' && Array.isArray(toolCalls) && toolCalls.length > 0;
}

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

/**
 * The fields that must not be dropped silently, at any upstream: those that it rejects, and a service tier with another
 * price, which would be charged at the standard one.
 * @throws ProviderError `validation_failed` with `param`
 */
export function checkNoRejectedFields(
  request: Readonly<Record<string, unknown>>,
  { rejectFields = [] }: Pick<Quirks, 'rejectFields'>,
): void {
  const { service_tier: tier } = request;
  if (tier != null && !STANDARD_SERVICE_TIERS.has(tier)) {
    throw unsupported('service_tier', 'Only the standard service_tier is offered: auto or default.');
  }
  for (const field of rejectFields) {
    if (!isUnused(field, request[field])) throw unsupported(field);
  }
}

/** Whether a field's value has no effect, so that dropping it changes nothing. */
export function isUnused(field: string, value: unknown): boolean {
  if (value === null || value === undefined) return true;
  if (field === 'parallel_tool_calls') return value === true;
  if (field === 'tool_choice' && value === 'auto') return true;
  if ((field === 'presence_penalty' || field === 'frequency_penalty') && value === 0) return true;
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

/**
 * The fields of a request that are forwarded unchanged: not those in `handled`, which the caller sets, nor the
 * gateway's own fields, nor those that the upstream does not accept.
 * @throws ProviderError `validation_failed` with `param` for a field that must not be dropped silently
 */
export function forwardedFields(
  request: Readonly<Record<string, unknown>>,
  handled: ReadonlySet<string>,
  quirks: Quirks,
): JsonObject {
  checkNoRejectedFields(request, quirks);
  const fields: JsonObject = {};
  for (const [field, value] of Object.entries(request)) {
    if (value == null || handled.has(field) || field === 'routing' || field.startsWith('x_')) continue;
    if (accepts(field, quirks)) fields[quirks.fieldNames?.[field] ?? field] = value;
  }
  return fields;
}
