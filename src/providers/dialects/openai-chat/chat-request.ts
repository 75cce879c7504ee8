import { type ChatMessage, type ChatRequest, SAMPLING_FIELDS, STANDARD_SERVICE_TIERS } from '../../contract/chat';
import type { DeploymentTraits, ModelFeatures, ProviderCall, Quirks } from '../../contract/provider-call';
import { isJsonObject, type JsonObject } from '../../kit/json';
import { unsupported } from '../../kit/unsupported';
import { toUpstreamMessages, toUpstreamTools } from './chat-messages';
import { toLogprobsCount } from './logprobs';
import { inStrictOrder, withOneSystemMessage } from './system-messages';
import { toWordChoice } from './tool-choice';

/** Fields that are set below, or not meant for an upstream. */
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

const TOOL_FIELDS: ReadonlySet<string> = new Set(['tools', 'tool_choice', 'parallel_tool_calls']);

/**
 * The body for the upstream. Pure; the request is not changed.
 * @throws ProviderError `validation_failed` with `param` for features that this model or upstream does not support
 */
export function toOpenAiChatRequest(given: ChatRequest, call: ProviderCall, stream: boolean): JsonObject {
  checkSupport(given, call);
  const { quirks } = call;
  const request = quirks.toolChoiceWords === true ? withWordChoice(given) : given;
  const messages = toUpstreamMessages(inOrder(request.messages, quirks), quirks);
  const body: JsonObject = { model: call.upstreamModel, messages };
  for (const field of Object.keys(request)) {
    if (isForwarded(field, request, call)) {
      body[quirks.fieldNames?.[field] ?? field] = toUpstreamValue(field, request[field], call);
    }
  }
  if (quirks.reasoningSwitch === true && body['reasoning_effort'] === 'none') {
    delete body['reasoning_effort'];
    body['reasoning'] = { enabled: false };
  }
  addOutputLimit(body, request, quirks);
  const logprobs = quirks.logprobLists === true ? toLogprobsCount(request) : null;
  if (logprobs !== null) body['logprobs'] = logprobs;
  if (quirks.reasoningDetails === true) body['reasoning_split'] = true;
  if (stream) addStreaming(body, quirks);
  return body;
}

function inOrder(messages: readonly ChatMessage[], { oneSystemMessage, strictRoles }: Quirks): readonly ChatMessage[] {
  if (oneSystemMessage === true) return withOneSystemMessage(messages);
  return strictRoles === true ? inStrictOrder(messages) : messages;
}

/** @throws ProviderError `validation_failed` for a tool that the request does not have */
function withWordChoice(request: ChatRequest): ChatRequest {
  const choice = toWordChoice(request['tools'], request['tool_choice']);
  return choice === null ? request : { ...request, tools: choice.tools, tool_choice: choice.word };
}

function isForwarded(field: string, request: ChatRequest, { quirks, features }: ProviderCall): boolean {
  const value = request[field];
  if (value === null || value === undefined || HANDLED_FIELDS.has(field) || field.startsWith('x_')) return false;
  if (features.sampling === false && SAMPLING_FIELDS.has(field)) return false;
  if (quirks.logprobLists === true && (field === 'logprobs' || field === 'top_logprobs')) return false;
  // Upstreams refuse an empty list, and options for tools without any: https://github.com/Upsonic/Upsonic/issues/323
  if (TOOL_FIELDS.has(field) && !hasTools(request, quirks)) return false;
  // The model never makes parallel calls, so the field has no effect and is omitted.
  if (field === 'parallel_tool_calls' && features.parallel_tools === false) return false;
  return accepts(field, quirks);
}

/**
 * Whether the upstream gets tools. An upstream without `tool_choice` decides about calls itself, so it gets no tools
 * when the client wants no call.
 */
function hasTools(
  { tools, tool_choice: choice }: Readonly<Record<string, unknown>>,
  { rejectFields }: Pick<Quirks, 'rejectFields'>,
): boolean {
  if (choice === 'none' && rejectFields?.includes('tool_choice') === true) return false;
  return Array.isArray(tools) && tools.length > 0;
}

/** Whether the field is sent. Fields in `rejectFields` are not: values with an effect have already been refused. */
function accepts(field: string, { acceptFields, dropFields, rejectFields }: Quirks): boolean {
  if (rejectFields?.includes(field) === true || dropFields?.includes(field) === true) return false;
  return acceptFields?.includes(field) !== false;
}

function toUpstreamValue(field: string, value: unknown, { features, quirks }: ProviderCall): unknown {
  if (field === 'tools') return toUpstreamTools(value, quirks);
  if (field === 'temperature' && typeof value === 'number') return Math.max(value, quirks.minTemperature ?? value);
  if (field !== 'reasoning_effort' || typeof value !== 'string') return value;
  const isListed = features.reasoning !== undefined && quirks.fixedEfforts !== true;
  return isListed ? value : (quirks.reasoningEfforts?.[value] ?? value);
}

function addOutputLimit(body: JsonObject, request: ChatRequest, { maxTokensField }: Quirks): void {
  const limit = outputLimit(request);
  if (limit === null) return;
  body[maxTokensField ?? (request.max_completion_tokens == null ? 'max_tokens' : 'max_completion_tokens')] = limit;
}

/** The smaller of the two limits; `null` if there is none. */
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

/**
 * Refuses features that the model or its upstream does not support and that must not be dropped silently. Features that
 * the catalogue does not mention are left to the upstream.
 * @throws ProviderError `validation_failed` with `param`
 */
export function checkSupport(request: ChatRequest, { features, quirks }: DeploymentTraits): void {
  checkNoRejectedFields(request, quirks);
  if (features.tools === false && hasTools(request, quirks)) throw unsupported('tools');
  if (!hasTools(request, quirks) && forcesCall(request['tool_choice'])) {
    throw unsupported('tool_choice', 'tool_choice requires a tool call, but the request has no tools.');
  }
  if (quirks.forcedTools === false && forcesCall(request['tool_choice']) && !hasThinkingDisabled(request)) {
    throw unsupported('tool_choice', 'This model cannot be forced to call a tool while it reasons.');
  }
  if (quirks.toolChoiceWords === true) withWordChoice(request);
  if (features.logprobs === false && request['logprobs'] === true) throw unsupported('logprobs');
  checkResponseFormat(request['response_format'], features, quirks);
  checkReasoningEffort(request['reasoning_effort'], features);
  if (features.vision === false) checkNoImages(request);
}

/**
 * Refuses the fields that must not be dropped silently at any upstream: those that the upstream rejects, a service tier
 * with another price, which would be charged at the standard price, and web search, which has its own price. An empty
 * object also requests web search.
 * @throws ProviderError `validation_failed` with `param`
 */
export function checkNoRejectedFields(
  request: Readonly<Record<string, unknown>>,
  quirks: Pick<Quirks, 'rejectFields'>,
): void {
  const { service_tier: tier } = request;
  if (tier != null && !STANDARD_SERVICE_TIERS.has(tier)) {
    throw unsupported('service_tier', 'Only the standard service_tier is offered: auto or default.');
  }
  if (request['web_search_options'] != null) throw unsupported('web_search_options');
  for (const field of quirks.rejectFields ?? []) {
    if (TOOL_FIELDS.has(field) && !hasTools(request, quirks)) continue;
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

function forcesCall(choice: unknown): boolean {
  return choice != null && choice !== 'auto' && choice !== 'none';
}

/** The field of DeepSeek and Moonshot that disables reasoning. */
function hasThinkingDisabled({ thinking }: ChatRequest): boolean {
  return isJsonObject(thinking) && thinking['type'] === 'disabled';
}

function checkResponseFormat(format: unknown, features: ModelFeatures, { jsonSchemas }: Quirks): void {
  if (!isJsonObject(format)) return;
  // A catalogue row with JSON mode that does not mention schemas describes a model without them.
  const schemas = jsonSchemas !== false && (features.json_schema ?? features.json_object !== true);
  if (format['type'] === 'json_schema' && !schemas) {
    throw unsupported('response_format', 'This model does not support response_format json_schema.');
  }
  if (format['type'] === 'json_object' && features.json_object === false) {
    throw unsupported('response_format', 'This model does not support response_format json_object.');
  }
}

/**
 * The schema of a `json_schema` format with the format's description inside, for upstreams that take no separate
 * description: the model then still reads it.
 * @returns `null` without a schema
 */
export function describedSchema(format: unknown): JsonObject | null {
  const { schema, description } = isJsonObject(format) ? format : {};
  if (!isJsonObject(schema)) return null;
  return typeof description === 'string' ? { description, ...schema } : schema;
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
