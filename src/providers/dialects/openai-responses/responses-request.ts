import { type ChatRequest, type InputItem, SAMPLING_FIELDS } from '../../contract/chat';
import type { DeploymentTraits, ProviderCall, Quirks } from '../../contract/provider-call';
import { isJsonObject, type JsonObject } from '../../kit/json';
import { unsupported } from '../../kit/unsupported';
import { checkSupport, isUnused, outputLimit } from '../openai-chat/chat-request';
import type { EarlierSteps } from './reasoning-state';
import { toInputItems, withReasoning } from './responses-input';

/** Chat fields that have the same name in this format. */
const SHARED_FIELDS: ReadonlySet<string> = new Set([
  'temperature',
  'top_p',
  'top_logprobs',
  'service_tier',
  'user',
  'metadata',
  'safety_identifier',
  'prompt_cache_key',
  'prompt_cache_retention',
  'prompt_cache_options',
]);

/** Fields that are set below, or that do not affect the meaning of the answer. */
const HANDLED_FIELDS: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'stream',
  'stream_options',
  'n',
  'store',
  'seed',
  'prediction',
  'max_tokens',
  'max_completion_tokens',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
  'verbosity',
  'reasoning_effort',
  'logprobs',
  'routing',
]);

/**
 * What chat completions take of `prompt_cache_options`. This format has more: `prewarm` asks for no answer, and
 * `comparison_response_id` refers to a response in the operator's account.
 */
const CACHE_OPTIONS: ReadonlySet<string> = new Set(['mode', 'ttl']);

/** The upstream refuses a smaller limit with 400 (https://github.com/earendil-works/pi/issues/6265). */
const LEAST_OUTPUT_TOKENS = 16;

/**
 * The body for the upstream, which stores nothing, so reasoning is returned encrypted. Pure; the request is not
 * changed. Fields that the format lacks are refused, and so are unknown fields, since they could refer to data in the
 * operator's account.
 * @param input the conversation, if it already has this format; `null`: the request's messages are translated
 * @throws ProviderError `validation_failed` with `param`
 */
export function toResponsesRequest(
  request: ChatRequest,
  call: DeploymentTraits & Pick<ProviderCall, 'upstreamModel'>,
  input: readonly InputItem[] | null,
  earlier: EarlierSteps,
  stream: boolean,
): JsonObject {
  checkSupport(request, call);
  const { quirks } = call;
  const body: JsonObject = {
    model: call.upstreamModel,
    input: input === null ? toInputItems(request.messages, quirks, earlier) : withReasoning(input, quirks, earlier),
    store: false,
    ...sharedFields(request, call),
    ...limitOf(request),
    ...toolFields(request, call),
    ...textFields(request, quirks),
    ...reasoningFields(request, call, input === null),
  };
  const include = [
    ...(body['tools'] !== undefined && reasons(call) ? ['reasoning.encrypted_content'] : []),
    ...(request['logprobs'] === true ? ['message.output_text.logprobs'] : []),
  ];
  if (include.length > 0) body['include'] = include;
  if (!stream) return body;
  body['stream'] = true;
  const { includeObfuscation } = quirks;
  if (includeObfuscation !== undefined) body['stream_options'] = { include_obfuscation: includeObfuscation };
  return body;
}

function sharedFields(request: ChatRequest, { features, quirks }: DeploymentTraits): JsonObject {
  const fields: JsonObject = {};
  for (const [field, value] of Object.entries(request)) {
    if (value == null || HANDLED_FIELDS.has(field) || field.startsWith('x_')) continue;
    if (features.sampling === false && SAMPLING_FIELDS.has(field)) continue;
    if (quirks.dropFields?.includes(field) === true) continue;
    if (field === 'prompt_cache_options') checkCacheOptions(value);
    if (SHARED_FIELDS.has(field)) fields[field] = value;
    else if (hasEffect(field, value)) throw unsupported(field);
  }
  return fields;
}

function checkCacheOptions(options: unknown): void {
  for (const [name, value] of Object.entries(isJsonObject(options) ? options : {})) {
    if (value == null || value === false || CACHE_OPTIONS.has(name)) continue;
    throw unsupported(`prompt_cache_options.${name}`);
  }
}

function hasEffect(field: string, value: unknown): boolean {
  if (field === 'modalities') return !Array.isArray(value) || value.some((each) => each !== 'text');
  if (SAMPLING_FIELDS.has(field)) return value !== 0;
  return !isUnused(field, value);
}

function limitOf(request: ChatRequest): JsonObject {
  const limit = outputLimit(request);
  if (limit === null) return {};
  if (limit < LEAST_OUTPUT_TOKENS) {
    const param = request.max_completion_tokens === limit ? 'max_completion_tokens' : 'max_tokens';
    throw unsupported(param, `This model requires a ${param} of at least ${LEAST_OUTPUT_TOKENS}.`);
  }
  return { max_output_tokens: limit };
}

function toolFields(request: ChatRequest, { features }: DeploymentTraits): JsonObject {
  const { tools, tool_choice: choice, parallel_tool_calls: parallel } = request;
  if (!Array.isArray(tools) || tools.length === 0) return {};
  return {
    tools: tools.map(toTool),
    ...(choice != null && { tool_choice: toToolChoice(choice) }),
    // The model never makes parallel calls, so the field has no effect and is omitted.
    ...(parallel != null && features.parallel_tools !== false && { parallel_tool_calls: parallel }),
  };
}

/**
 * `strict` is always set: it defaults to true in this format, and a schema that is not strict would then be refused.
 */
function toTool({ type, function: called, custom }: JsonObject): JsonObject {
  if (type === 'custom') {
    const { name, description, format } = custom as JsonObject;
    return {
      type,
      name,
      ...(description != null && { description }),
      ...(isJsonObject(format) && { format: toInputFormat(format) }),
    };
  }
  const { name, description, parameters, strict } = called as JsonObject;
  return {
    type,
    name,
    ...(description != null && { description }),
    parameters: parameters ?? { type: 'object', properties: {} },
    strict: strict ?? false,
  };
}

function toInputFormat({ type, grammar }: JsonObject): JsonObject {
  return isJsonObject(grammar) ? { type, ...grammar } : { type };
}

function toToolChoice(choice: unknown): unknown {
  if (!isJsonObject(choice)) return choice;
  const { type, allowed_tools: allowed } = choice;
  if (!isJsonObject(allowed)) return { type, name: (choice[String(type)] as JsonObject)['name'] };
  const { mode, tools } = allowed;
  return { type, mode, tools: (tools as readonly JsonObject[]).map(toToolChoice) };
}

function textFields({ response_format: format, verbosity }: ChatRequest, quirks: Quirks): JsonObject {
  if (quirks.chatResponseFormat === true) return isJsonObject(format) ? { response_format: format } : {};
  const text = {
    ...(isJsonObject(format) && { format: toTextFormat(format) }),
    ...(verbosity != null && { verbosity }),
  };
  return Object.keys(text).length === 0 ? {} : { text };
}

function toTextFormat({ type, json_schema: described }: JsonObject): JsonObject {
  if (!isJsonObject(described)) return { type };
  const { name, description, schema, strict } = described;
  return {
    type,
    name,
    ...(description != null && { description }),
    schema: schema ?? { type: 'object' },
    strict: strict ?? false,
  };
}

/** @param readable whether the client gets summaries: the answers of `/v1/responses` have no reasoning */
function reasoningFields(
  { reasoning_effort: effort }: ChatRequest,
  call: DeploymentTraits,
  readable: boolean,
): JsonObject {
  const summary = readable && reasons(call) && effort !== 'none' ? call.quirks.reasoningSummary : undefined;
  if (effort == null && summary === undefined) return {};
  return { reasoning: { ...(effort != null && { effort }), ...(summary !== undefined && { summary }) } };
}

/** Models without reasoning refuse fields that concern reasoning. */
function reasons({ features: { reasoning = [] } }: DeploymentTraits): boolean {
  return reasoning.length > 0;
}
