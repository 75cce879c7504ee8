import { createHash } from 'node:crypto';
import type { ChatMessage } from '../../contract/chat';
import type { Quirks } from '../../contract/provider-call';
import { isJsonObject, type JsonObject } from '../../kit/json';
import { toReasoningDetails } from './reasoning-details';

/** The message fields that every conversation with tools requires. */
export const ESSENTIAL_MESSAGE_FIELDS: readonly string[] = ['role', 'content', 'tool_calls', 'tool_call_id'];

/** The conversation in the upstream's format. Messages that need no change are shared, not copied. */
export function toUpstreamMessages(messages: readonly ChatMessage[], quirks: Quirks): readonly ChatMessage[] {
  return messages.some((message) => needsChange(message, quirks))
    ? messages.map((message) => (needsChange(message, quirks) ? toUpstreamMessage(message, quirks) : message))
    : messages;
}

/** The tools without members that the upstream does not know, such as the `cache_control` of other vendors. */
export function toUpstreamTools(tools: unknown, { acceptMessageFields, toolParameters }: Quirks): unknown {
  const known = acceptMessageFields === undefined ? tools : withoutUnknownMembers(tools);
  return toolParameters === 'required' && Array.isArray(known) ? known.map(withParameters) : known;
}

function withParameters(tool: unknown): unknown {
  const definition = isJsonObject(tool) ? tool['function'] : undefined;
  if (!isJsonObject(tool) || !isJsonObject(definition) || definition['parameters'] != null) return tool;
  return { ...tool, function: { ...definition, parameters: { type: 'object', properties: {} } } };
}

function needsChange(message: ChatMessage, quirks: Quirks): boolean {
  return (
    (message.role === 'developer' && quirks.developerRole !== true) ||
    (message['reasoning_content'] !== undefined &&
      (quirks.reasoningReplay !== true || quirks.reasoningDetails === true || quirks.reasoningField !== undefined)) ||
    hasEmptyTextBesideToolCalls(message) ||
    hasFieldsWithoutValue(message) ||
    quirks.acceptMessageFields !== undefined ||
    quirks.dropMessageFields?.some((field) => message[field] !== undefined) === true ||
    (quirks.joinTextParts === true && Array.isArray(message.content)) ||
    (quirks.shortToolCallIds === true && (message['tool_calls'] ?? message['tool_call_id']) != null)
  );
}

function toUpstreamMessage(message: ChatMessage, quirks: Quirks): ChatMessage {
  const { role, content, reasoning_content: reasoning, ...rest } = message;
  return {
    role: role === 'developer' && quirks.developerRole !== true ? 'system' : role,
    ...(content !== undefined && { content: toContent(message, quirks) }),
    ...Object.fromEntries(
      Object.entries(rest)
        .filter(([field, value]) => isKept(field, value, quirks))
        .map(([field, value]) => [field, toUpstreamField(field, value, quirks)]),
    ),
    ...(quirks.reasoningReplay === true && reasoning != null && returnedReasoning(reasoning, quirks)),
  };
}

function toContent(message: ChatMessage, { acceptMessageFields, joinTextParts }: Quirks): unknown {
  const { content, refusal } = message;
  if (hasEmptyTextBesideToolCalls(message)) return null;
  const written = joinTextParts === true ? joinedText(content) : content;
  if (acceptMessageFields === undefined) return written;
  // The refusal is kept even if the field that contains it is dropped.
  return written === null ? (refusal ?? null) : withoutUnknownMembers(written);
}

function toUpstreamField(field: string, value: unknown, { acceptMessageFields, shortToolCallIds }: Quirks): unknown {
  const known = acceptMessageFields === undefined ? value : withoutUnknownMembers(value);
  if (shortToolCallIds !== true) return known;
  if (field === 'tool_call_id') return toShortId(known);
  return field === 'tool_calls' ? withShortIds(known) : known;
}

function isKept(field: string, value: unknown, { acceptMessageFields, dropMessageFields }: Quirks): boolean {
  if (isWithoutValue(field, value) || dropMessageFields?.includes(field) === true) return false;
  return acceptMessageFields?.includes(field) !== false;
}

function hasFieldsWithoutValue(message: ChatMessage): boolean {
  for (const field in message) if (isWithoutValue(field, message[field])) return true;
  return false;
}

/**
 * Clients send an answer back with null for missing fields and an empty list of tool calls, and upstreams refuse both
 * (https://github.com/openai/openai-node/pull/1341, https://github.com/Gage-Technologies/mistral-go/pull/2).
 */
function isWithoutValue(field: string, value: unknown): boolean {
  if (value === null) return field !== 'content';
  return field === 'tool_calls' && Array.isArray(value) && value.length === 0;
}

/** Keeps only `id`, `type`, and the member that the type names, for parts, tool calls and tools. */
function withoutUnknownMembers(list: unknown): unknown {
  if (!Array.isArray(list)) return list;
  return list.map((each: unknown): unknown => {
    if (!isJsonObject(each)) return each;
    const { id, type } = each;
    const name = String(type);
    return { ...(id !== undefined && { id }), type, [name]: withoutCacheMarker(each[name]) };
  });
}

function withoutCacheMarker(value: unknown): unknown {
  if (!isJsonObject(value) || value['cache_control'] === undefined) return value;
  const { cache_control: _marker, ...rest } = value;
  return rest;
}

/** The texts of a message that has only text parts, joined as vLLM joins them; other messages stay unchanged. */
export function joinedText(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  const texts = content.map((part: unknown) => (isJsonObject(part) && part['type'] === 'text' ? part['text'] : null));
  return texts.every((text) => typeof text === 'string') ? texts.join('\n') : content;
}

function returnedReasoning(reasoning: unknown, { reasoningDetails, reasoningField }: Quirks): JsonObject {
  if (reasoningDetails === true) return toReasoningDetails(reasoning);
  return { [reasoningField ?? 'reasoning_content']: reasoning };
}

function withShortIds(calls: unknown): unknown {
  if (!Array.isArray(calls)) return calls;
  return calls.map((call: unknown) => (isJsonObject(call) ? { ...call, id: toShortId(call['id']) } : call));
}

/** Maps a call and its result to the same id. A pure function, so that the ids also match across requests. */
function toShortId(id: unknown): unknown {
  if (typeof id !== 'string' || /^[A-Za-z0-9]{9}$/.test(id)) return id;
  return createHash('sha256').update(id).digest('hex').slice(0, 9);
}

/** Clients write `''` where the format requires null; some upstreams refuse empty text. */
function hasEmptyTextBesideToolCalls({ role, content, tool_calls: toolCalls }: ChatMessage): boolean {
  return role === 'assistant' && content === '' && Array.isArray(toolCalls) && toolCalls.length > 0;
}
