import { createHash } from 'node:crypto';
import type { ChatRequest } from '../../contract/chat';
import type { ModelFeatures, ProviderCall } from '../../contract/provider-call';
import { isJsonObject } from '../../kit/json';
import { unsupported } from '../../kit/unsupported';
import { checkNoRejectedFields, describedSchema } from '../openai-chat/chat-request';
import { JSON_INSTRUCTION, wantsJsonObject } from './json-object';
import type { MessagesRequest } from './messages-format';
import { toSupportedSchema } from './schema-keywords';
import { isThinking, type Reasoning, toReasoning } from './thinking';
import { cacheControlOf } from './to-content';
import { toConversation, type ToolStep } from './to-messages';
import { isForced, toTools, withCalledTools } from './tools';

/** For models whose limit the catalogue does not state, since the upstream requires a limit. */
const DEFAULT_MAX_TOKENS = 8_192;

/**
 * Fields without an equivalent that change the meaning of the answer or, for the upstream's own fields, its cost. All
 * other fields that are not translated below do neither, or are unknown, and are dropped.
 */
const REFUSED = [
  'logprobs',
  'logit_bias',
  'presence_penalty',
  'frequency_penalty',
  'audio',
  'functions',
  'function_call',
  'thinking',
  'output_config',
  'speed',
  'inference_geo',
  'container',
  'mcp_servers',
];

/**
 * Fields that other upstreams support and that are dropped here, because the answer still means the same. If a request
 * requires them, routing chooses other deployments.
 */
export const DROPPED: readonly string[] = ['seed', 'prediction'];

/** What a request becomes, before earlier reasoning is added. */
export interface TranslatedRequest {
  readonly body: MessagesRequest;
  readonly toolSteps: readonly ToolStep[];
  /** Whether the model reads the reasoning of earlier answers. */
  readonly readsReasoning: boolean;
}

type Traits = Pick<ProviderCall, 'features' | 'quirks' | 'upstreamModel' | 'maxOutputTokens'>;

/**
 * The body for the upstream. Pure; the request is not changed.
 * @throws ProviderError `validation_failed` with `param` for what this model or upstream does not support
 */
export function toMessagesRequest(request: ChatRequest, traits: Traits): TranslatedRequest {
  const { features, upstreamModel, maxOutputTokens } = traits;
  checkFields(request, traits);
  const { system, messages, toolSteps } = toConversation(request.messages, features);
  // After the caller's own blocks, so that their cache stays valid.
  if (wantsJsonObject(request)) system.push(JSON_INSTRUCTION);
  const tools = withCalledTools(toTools(request, features), messages);
  const maxTokens = outputLimit(request, maxOutputTokens);
  const forced = isForced(tools.tool_choice);
  const reasoning = toReasoning({ effort: request['reasoning_effort'], forced, maxTokens }, features);
  // https://platform.claude.com/docs/en/build-with-claude/prompt-engineering/prefill-claudes-response
  if (isThinking(reasoning) && messages.at(-1)?.role === 'assistant') {
    throw unsupported(
      `messages[${request.messages.length - 1}]`,
      'With reasoning, the last message cannot be an assistant message.',
    );
  }
  const body: MessagesRequest = {
    model: upstreamModel,
    max_tokens: maxTokens,
    ...(system.length > 0 && { system }),
    messages,
    ...tools,
    ...(reasoning.thinking !== undefined && { thinking: reasoning.thinking }),
    ...toOutputConfig(request, reasoning, features),
    ...toStopSequences(request['stop']),
    ...toMetadata(request),
    ...samplingOf(request, reasoning, features),
    ...(isJsonObject(request['cache_control']) && cacheControlOf(request)),
    ...(standardTierOnly(request['service_tier']) && { service_tier: 'standard_only' }),
  };
  return { body, toolSteps, readsReasoning: !forced && reasoning.thinking?.type !== 'disabled' };
}

function checkFields(request: ChatRequest, { features, quirks }: Traits): void {
  checkNoRejectedFields(request, { rejectFields: [...REFUSED, ...(quirks.rejectFields ?? [])] });
  const { modalities, verbosity } = request;
  if (Array.isArray(modalities) && modalities.includes('audio')) {
    throw unsupported('modalities', 'This model has no audio.');
  }
  if (verbosity != null && verbosity !== 'medium') throw unsupported('verbosity');
  if (!wantsJsonObject(request)) return;
  if (features.json_object === false) {
    throw unsupported('response_format', 'This model does not support response_format json_object.');
  }
  // The object could begin in that message, and the answer would then be only the rest of the object.
  if (request.messages.at(-1)?.role === 'assistant') {
    throw unsupported(
      'response_format',
      'With response_format json_object, the last message cannot be an assistant message.',
    );
  }
}

/** If both limits are present, the smaller applies. A limit above the model's own is reduced to the model's. */
function outputLimit({ max_tokens: older, max_completion_tokens: newer }: ChatRequest, most?: number): number {
  const wanted = Math.min(older ?? Infinity, newer ?? Infinity);
  return Math.min(wanted, most ?? (wanted === Infinity ? DEFAULT_MAX_TOKENS : Infinity));
}

function toOutputConfig(
  { response_format: format }: ChatRequest,
  { effort }: Reasoning,
  features: ModelFeatures,
): Pick<MessagesRequest, 'output_config'> {
  const type = isJsonObject(format) ? format['type'] : 'text';
  const config: MessagesRequest['output_config'] = {
    ...(effort !== undefined && { effort }),
    ...(type === 'json_schema' && { format: toJsonFormat(format, features) }),
  };
  return Object.keys(config).length === 0 ? {} : { output_config: config };
}

function toJsonFormat(
  format: unknown,
  { json_schema: supported }: ModelFeatures,
): { type: 'json_schema'; schema: Record<string, unknown> } {
  if (supported === false) {
    throw unsupported('response_format', 'This model does not support response_format json_schema.');
  }
  const path = 'response_format.json_schema.schema';
  const schema = describedSchema(isJsonObject(format) ? format['json_schema'] : null);
  if (schema === null) throw unsupported(path, 'This model requires a schema in response_format.');
  return { type: 'json_schema', schema: toSupportedSchema(schema, path) };
}

function toStopSequences(stop: unknown): Pick<MessagesRequest, 'stop_sequences'> {
  const given = (Array.isArray(stop) ? stop : [stop]).filter((each) => typeof each === 'string');
  if (given.length === 0) return {};
  if (given.some((each) => each.trim() === '')) {
    throw unsupported('stop', 'This model does not support stop sequences of white space only.');
  }
  return { stop_sequences: given };
}

/** The hash of the client's id for the end user, because the field must not carry personal data. */
function toMetadata({ safety_identifier: identifier, user }: ChatRequest): Pick<MessagesRequest, 'metadata'> {
  const id = identifier ?? user;
  if (typeof id !== 'string' || id === '') return {};
  return { metadata: { user_id: createHash('sha256').update(id).digest('hex') } };
}

/**
 * Dropped for models that refuse them, since many clients always send them, and whenever the model reasons, which
 * excludes them. The temperature is at most 1, and must not be combined with `top_p`.
 * https://platform.claude.com/docs/en/api/versioning
 */
function samplingOf(
  { temperature, top_p: topP, top_k: topK }: ChatRequest,
  reasoning: Reasoning,
  { sampling }: ModelFeatures,
): Pick<MessagesRequest, 'temperature' | 'top_p' | 'top_k'> {
  if (sampling === false || isThinking(reasoning)) return {};
  return {
    ...(typeof temperature === 'number' && { temperature: Math.min(temperature, 1) }),
    ...(typeof topP === 'number' && typeof temperature !== 'number' && { top_p: topP }),
    ...(typeof topK === 'number' && { top_k: topK }),
  };
}

/** By default the upstream may use priority capacity that the operator has bought. */
function standardTierOnly(tier: unknown): boolean {
  return tier === 'default' || tier === 'standard_only';
}
