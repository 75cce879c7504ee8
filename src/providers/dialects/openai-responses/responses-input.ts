import type { ChatMessage, InputItem } from '../../contract/chat';
import type { Quirks } from '../../contract/provider-call';
import { isJsonObject, type JsonObject } from '../../kit/json';
import { unsupported } from '../../kit/unsupported';
import { type EarlierSteps, firstCallId, type ReasoningStep, type Step } from './reasoning-state';

/**
 * The conversation as input items. System messages stay messages instead of becoming `instructions`, so that they keep
 * their position and count for JSON mode, which requires the word "json" in the input.
 * @throws ProviderError `validation_failed` with `param` for content that the format does not have
 */
export function toInputItems(messages: readonly ChatMessage[], quirks: Quirks, earlier: EarlierSteps): JsonObject[] {
  const customCalls = new Set<string>();
  return messages.flatMap((message, index) => {
    const param = `messages[${index}]`;
    switch (message.role) {
      case 'assistant':
        refuse(message, ['name', 'audio', 'function_call'], quirks, param);
        return toAnswerItems(message, earlier.get(firstCallId(message) ?? '') ?? [], customCalls, param);
      case 'tool':
        return [toResultItem(message, customCalls, param)];
      case 'function':
        throw unsupported(param, 'This model does not support messages of role function; use tools.');
      default:
        refuse(message, ['name'], quirks, param);
        return [{ type: 'message', role: roleOf(message, quirks), content: toContent(message.content, param) }];
    }
  });
}

/** Adds the reasoning to a conversation that already consists of input items. */
export function withReasoning(input: readonly InputItem[], quirks: Quirks, earlier: EarlierSteps): JsonObject[] {
  const items: JsonObject[] = [];
  let turn: InputItem[] = [];
  const endTurn = (): void => {
    items.push(...toTurnItems(turn, earlier));
    turn = [];
  };
  for (const item of input) {
    if (isAnswerItem(item)) {
      turn.push(item);
      continue;
    }
    endTurn();
    items.push(item.type === 'message' ? { ...item, role: roleOf(item as unknown as ChatMessage, quirks) } : item);
  }
  endTurn();
  return items;
}

function isAnswerItem({ type, role }: InputItem): boolean {
  return type === 'message' ? role === 'assistant' : type === 'function_call' || type === 'custom_tool_call';
}

/** @param turn adjacent messages and calls of the model */
function toTurnItems(turn: readonly InputItem[], earlier: EarlierSteps): readonly JsonObject[] {
  const calls = turn.filter(({ type }) => type !== 'message');
  const steps = earlier.get(String(calls[0]?.['call_id']));
  if (steps === undefined) return turn;
  const messages = turn.filter(({ type }) => type === 'message');
  const callsById = new Map(calls.map((call) => [String(call['call_id']), call]));
  return callsById.size === calls.length ? inOrder(messages, callsById, steps) : turn;
}

function roleOf({ role }: Pick<ChatMessage, 'role'>, { developerRole }: Quirks): string {
  return role === 'developer' && developerRole !== true ? 'system' : role;
}

function toContent(content: unknown, param: string): unknown {
  if (!Array.isArray(content)) return content;
  return content.map((part: JsonObject, index) => toPart(part, `${param}.content[${index}]`));
}

function toPart(part: JsonObject, param: string): JsonObject {
  switch (part['type']) {
    case 'text':
      return { type: 'input_text', text: part['text'] };
    case 'image_url': {
      const { url, detail } = part['image_url'] as JsonObject;
      return { type: 'input_image', image_url: url, detail: detail ?? 'auto' };
    }
    case 'file': {
      const { filename, file_data } = part['file'] as JsonObject;
      return { type: 'input_file', file_data, ...(filename != null && { filename }) };
    }
    default:
      throw unsupported(param, `This model does not support content of type ${String(part['type'])}.`);
  }
}

function toAnswerItems(
  message: ChatMessage,
  steps: readonly Step[],
  customCalls: Set<string>,
  param: string,
): JsonObject[] {
  const text = answerText(message);
  const messages = text === '' ? [] : [{ type: 'message', role: 'assistant', content: text }];
  return inOrder(messages, toCallItems(message['tool_calls'], customCalls, `${param}.tool_calls`), steps);
}

/**
 * Reasoning, messages and calls of an earlier answer, in the model's order if that is known.
 * @param messages in order
 * @param calls by call id
 */
function inOrder(
  messages: readonly JsonObject[],
  calls: ReadonlyMap<string, JsonObject>,
  steps: readonly Step[],
): JsonObject[] {
  // Messages without a step come first, because a message usually precedes the calls.
  const spare = Math.max(0, messages.length - steps.filter(({ type }) => type === 'message').length);
  const items = messages.slice(0, spare);
  const due = messages.slice(spare);
  const dueCalls = new Map(calls);
  // The upstream refuses a reasoning item without an item after it.
  let held: ReasoningStep[] = [];
  for (const step of steps) {
    if (step.type === 'reasoning') {
      held.push(step);
      continue;
    }
    const item = step.type === 'call' ? dueCalls.get(step.id) : due.shift();
    if (item === undefined) continue;
    items.push(...held.map((each) => ({ ...each })));
    held = [];
    if (step.type === 'call') {
      items.push(item);
      dueCalls.delete(step.id);
    } else {
      items.push(step.phase === undefined ? item : { phase: step.phase, ...item });
    }
  }
  return [...items, ...dueCalls.values()];
}

function answerText({ content, refusal }: ChatMessage): string {
  if (typeof content === 'string' && content !== '') return content;
  if (Array.isArray(content)) {
    return content.map((part: JsonObject) => String(part['text'] ?? part['refusal'] ?? '')).join('');
  }
  return typeof refusal === 'string' ? refusal : '';
}

/** Call items by call id. Item ids are left out, because they would require the stored reasoning of the call. */
function toCallItems(toolCalls: unknown, customCalls: Set<string>, param: string): Map<string, JsonObject> {
  const items = new Map<string, JsonObject>();
  for (const [at, call] of ((Array.isArray(toolCalls) ? toolCalls : []) as readonly JsonObject[]).entries()) {
    const id = String(call['id']);
    if (items.has(id)) throw unsupported(`${param}[${at}].id`, 'Two tool calls of one message have the same id.');
    const { custom, function: called } = call;
    if (isJsonObject(custom)) {
      customCalls.add(id);
      items.set(id, { type: 'custom_tool_call', call_id: id, name: custom['name'], input: custom['input'] });
    } else {
      items.set(id, { type: 'function_call', call_id: id, ...(called as JsonObject) });
    }
  }
  return items;
}

function toResultItem(
  { tool_call_id: callId, content }: ChatMessage,
  customCalls: ReadonlySet<string>,
  param: string,
): JsonObject {
  const type = customCalls.has(String(callId)) ? 'custom_tool_call_output' : 'function_call_output';
  return { type, call_id: callId, output: toContent(content, param) };
}

function refuse(
  message: ChatMessage,
  fields: readonly string[],
  { dropMessageFields = [] }: Quirks,
  param: string,
): void {
  for (const field of fields) {
    if (message[field] != null && !dropMessageFields.includes(field)) {
      throw unsupported(
        `${param}.${field}`,
        `This model does not support ${field} in a message of role ${message.role}.`,
      );
    }
  }
}
