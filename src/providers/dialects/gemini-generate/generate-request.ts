import type { ChatRequest } from '../../contract/chat';
import type { DeploymentTraits, ModelFeatures, ProviderCall } from '../../contract/provider-call';
import { isJsonObject, type JsonObject } from '../../kit/json';
import { unsupported } from '../../kit/unsupported';
import { checkNoRejectedFields, checkSupport, describedSchema } from '../openai-chat/chat-request';
import { toConversation } from './request-contents';
import { toTools } from './request-tools';
import { SchemaReferences } from './schema-references';

/** The parts of a call that shape its request. */
export type GenerateTraits = DeploymentTraits & Pick<ProviderCall, 'maxOutputTokens'>;

/** Fields without a counterpart that change the answer. */
const REFUSED_FIELDS = ['logit_bias', 'functions', 'function_call'];
/** Every current model refuses values other than zero: https://github.com/google-gemini/cookbook/issues/1290 */
const PENALTIES = ['presence_penalty', 'frequency_penalty'];

/** https://ai.google.dev/gemini-api/docs/thinking */
const LEVELS: ReadonlyMap<unknown, string> = new Map([
  ['minimal', 'MINIMAL'],
  ['low', 'LOW'],
  ['medium', 'MEDIUM'],
  ['high', 'HIGH'],
  ['xhigh', 'XHIGH'],
]);
/** Tokens by effort, within the limits of all models with a budget. */
const BUDGETS: ReadonlyMap<unknown, number> = new Map([
  ['none', 0],
  ['minimal', 512],
  ['low', 1_024],
  ['medium', 8_192],
  ['high', 24_576],
]);

/**
 * The body for the upstream. Pure; the request is not changed. Fields that only guide the upstream's cache, storage or
 * abuse detection are dropped.
 * @param signatures thought signatures by tool call id
 * @throws ProviderError `validation_failed` with `param` for what the model or the format does not support
 */
export function toGenerateRequest(
  request: ChatRequest,
  traits: GenerateTraits,
  signatures: ReadonlyMap<string, string> = new Map(),
): JsonObject {
  const { features, quirks } = traits;
  const kept = withoutFields(request, quirks.dropFields);
  checkSupport(kept, traits);
  checkFormat(kept, features);
  const { contents, instructions } = toConversation(kept.messages, {
    toolCallIds: quirks.toolCallIds !== false,
    needsSignatures: features.thinking_budget !== true,
    signatures,
  });
  const { tools, toolConfig } = toTools(kept);
  if (tools !== undefined && features.json_with_tools === false && isJsonFormat(kept['response_format'])) {
    throw unsupported('response_format', 'This model does not support response_format together with tools.');
  }
  const generationConfig = toGenerationConfig(kept, traits);
  return {
    contents,
    ...(instructions.length > 0 && { systemInstruction: { parts: instructions.map((text) => ({ text })) } }),
    ...(tools !== undefined && { tools }),
    ...(toolConfig !== undefined && { toolConfig }),
    ...(Object.keys(generationConfig).length > 0 && { generationConfig }),
  };
}

function withoutFields(request: ChatRequest, dropped: readonly string[] = []): ChatRequest {
  if (dropped.length === 0) return request;
  return Object.fromEntries(Object.entries(request).filter(([field]) => !dropped.includes(field))) as ChatRequest;
}

function checkFormat(request: ChatRequest, features: ModelFeatures): void {
  checkNoRejectedFields(request, { rejectFields: REFUSED_FIELDS });
  const { n, logprobs, modalities, verbosity } = request;
  if (n != null && n !== 1) throw unsupported('n', 'This model returns one choice per request.');
  if (logprobs === true && features.logprobs !== true) throw unsupported('logprobs');
  if (Array.isArray(modalities) && modalities.some((modality) => modality !== 'text')) throw unsupported('modalities');
  if (verbosity != null && verbosity !== 'medium') throw unsupported('verbosity');
  // If the model refuses all sampling parameters, penalties are dropped with them.
  const penalty = PENALTIES.find((field) => request[field] != null && request[field] !== 0);
  if (penalty !== undefined && features.sampling !== false) throw unsupported(penalty);
  if (features.prefill === false && request.messages.at(-1)?.role === 'assistant') {
    throw unsupported('messages', 'For this model, the last message must not have the role assistant.');
  }
}

function toGenerationConfig(request: ChatRequest, traits: GenerateTraits): JsonObject {
  const { features } = traits;
  const { seed, logprobs, top_logprobs: alternatives } = request;
  const config: JsonObject = {};
  const limit = outputLimit(request, traits);
  if (limit !== null) config['maxOutputTokens'] = limit;
  const stop = stopSequences(request['stop']);
  if (stop.length > 0) config['stopSequences'] = stop;
  // The field has 32 bits.
  if (typeof seed === 'number') config['seed'] = seed | 0;
  // Many clients always send sampling parameters, so they are dropped if the model refuses them.
  if (features.sampling !== false) addSampling(config, request);
  if (logprobs === true) {
    config['responseLogprobs'] = true;
    if (typeof alternatives === 'number') config['logprobs'] = alternatives;
  }
  addFormat(config, request['response_format']);
  const thinking = toThinkingConfig(request['reasoning_effort'], features);
  if (thinking !== null) config['thinkingConfig'] = thinking;
  return config;
}

/** The smallest of the client's limits and the model's own limit, since the upstream refuses larger values. */
function outputLimit(request: ChatRequest, { maxOutputTokens }: GenerateTraits): number | null {
  const { max_tokens: older, max_completion_tokens: newer } = request;
  if (older == null && newer == null) return null;
  return Math.min(older ?? Infinity, newer ?? Infinity, maxOutputTokens ?? Infinity);
}

function stopSequences(stop: unknown): readonly unknown[] {
  const sequences: readonly unknown[] = Array.isArray(stop) ? stop : [stop];
  return sequences.filter((sequence) => typeof sequence === 'string' && sequence !== '');
}

function addSampling(config: JsonObject, request: ChatRequest): void {
  const { temperature, top_p: topP, top_k: topK } = request;
  if (typeof temperature === 'number') config['temperature'] = temperature;
  if (typeof topP === 'number') config['topP'] = topP;
  if (typeof topK === 'number') config['topK'] = topK;
}

function addFormat(config: JsonObject, format: unknown): void {
  if (!isJsonFormat(format)) return;
  config['responseMimeType'] = 'application/json';
  const schema = describedSchema(format['json_schema']);
  if (schema !== null) config['responseJsonSchema'] = new SchemaReferences().resolve(schema);
}

function isJsonFormat(format: unknown): format is JsonObject {
  return isJsonObject(format) && (format['type'] === 'json_object' || format['type'] === 'json_schema');
}

/** Summaries of thoughts are requested wherever the model thinks: they are free, and the client sees progress. */
function toThinkingConfig(
  effort: unknown,
  { reasoning = [], thinking_budget: budgeted }: ModelFeatures,
): JsonObject | null {
  if (effort == null) return reasoning.length === 0 ? null : { includeThoughts: true };
  if (budgeted === true) {
    const thinkingBudget = BUDGETS.get(effort);
    if (thinkingBudget === undefined) throw unsupported('reasoning_effort');
    return { thinkingBudget, ...(thinkingBudget > 0 && { includeThoughts: true }) };
  }
  const thinkingLevel = LEVELS.get(effort);
  if (thinkingLevel === undefined) throw unsupported('reasoning_effort');
  return { thinkingLevel, includeThoughts: true };
}
