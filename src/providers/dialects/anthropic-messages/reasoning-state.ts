/**
 * Signed thinking must be returned with the results of the tool calls that it led to, or the model starts thinking
 * again. Chat clients do not return it, so it is kept in the call's vault, under the first call id of its answer.
 *
 * The newest models accept a thinking block only after exactly the same prefix: system prompt, tools, messages, and
 * earlier thinking blocks (https://platform.claude.com/docs/en/build-with-claude/preserved-thinking). A stored state
 * therefore contains a digest of the prefix as it was sent, and is left out if the prefix differs.
 */
import { createHash, type Hash } from 'node:crypto';
import { isJsonObject, type JsonObject } from '../../kit/json';
import type { AssistantBlock, MessagesRequest, TextBlock, ThinkingBlock, ToolUseBlock } from './messages-format';
import type { TranslatedRequest } from './to-messages-request';

/** A block of an answer, in its order. */
export type AnswerBlock = ThinkingBlock | TextBlock | ToolUseBlock;

/** A part of an answer: its thinking, or the place of a text or call, which the client itself returns. */
type LayoutEntry = ThinkingBlock | { readonly type: 'text'; readonly length: number } | { readonly type: 'tool_use' };

interface ReasoningState {
  readonly before: string;
  readonly content: string;
  readonly layout: readonly LayoutEntry[];
}

/** Overwrites a state that the upstream refused, so that the next call goes without it. */
export const REFUSED_STATE = 'null';

/** The state to keep for an answer to `request`; `null` without thinking, or without calls whose results return it. */
export function toReasoningState(request: MessagesRequest, answer: readonly AnswerBlock[]): string | null {
  if (!answer.some(isToolUse) || !answer.some(isThinkingBlock)) return null;
  const isBlank = textOf(answer).trim() === '';
  const state: ReasoningState = {
    before: new PrefixDigest(request).addAll(request.messages).value,
    content: digestOf(answer),
    layout: answer.flatMap((block): LayoutEntry[] => {
      if (isThinkingBlock(block)) return [block];
      if (block.type === 'tool_use') return [{ type: 'tool_use' }];
      return isBlank ? [] : [{ type: 'text', length: block.text.length }];
    }),
  };
  return JSON.stringify(state);
}

/**
 * Adds the stored thinking to the answers of a request.
 * @param states by the first call id of each answer
 * @returns the call ids of the answers whose thinking was restored
 */
export function restoreReasoning(
  { body, toolSteps, readsReasoning }: TranslatedRequest,
  states: ReadonlyMap<string, string>,
): string[] {
  const restored: string[] = [];
  if (states.size > 0 && readsReasoning) {
    const prefix = new PrefixDigest(body);
    let hashed = 0;
    for (const { index, firstCallId } of toolSteps) {
      const state = parseState(states.get(firstCallId));
      if (state === null) continue;
      prefix.addAll(body.messages.slice(hashed, index));
      hashed = index;
      const message = body.messages[index];
      if (message?.role !== 'assistant' || state.before !== prefix.value) continue;
      const content = withReasoning(message.content, state);
      if (content === null) continue;
      message.content = content;
      restored.push(firstCallId);
    }
  }
  // With a thinking budget, the upstream requires the thinking of the answer whose results it gets.
  if (body.thinking?.type === 'enabled' && lacksReasoning(body)) delete body.thinking;
  return restored;
}

function withReasoning(content: readonly AssistantBlock[], state: ReasoningState): AssistantBlock[] | null {
  if (state.content !== digestOf(content)) return null;
  const text = textOf(content);
  const calls = content.filter(isToolUse);
  const marked = content.findLast((block) => block.type === 'text' && block.cache_control !== undefined);
  const blocks: AssistantBlock[] = [];
  let textAt = 0;
  let callAt = 0;
  for (const entry of state.layout) {
    if (isThinkingBlock(entry)) blocks.push(entry);
    else if (entry.type === 'tool_use') blocks.push(...calls.slice(callAt, ++callAt));
    else {
      const piece = text.slice(textAt, (textAt += entry.length));
      if (piece.trim() !== '') blocks.push({ type: 'text', text: piece });
    }
  }
  const last = blocks.findLast((block) => block.type === 'text');
  if (last !== undefined && marked?.type === 'text') last.cache_control = marked.cache_control;
  return blocks;
}

function lacksReasoning({ messages }: MessagesRequest): boolean {
  const last = messages.at(-1);
  if (last?.role !== 'user' || last.content[0]?.type !== 'tool_result') return false;
  const answer = messages.at(-2);
  return answer?.role === 'assistant' && !answer.content.some(isThinkingBlock);
}

/** A digest of the beginning of a request. Cache markers may move between requests. */
class PrefixDigest {
  private readonly hash: Hash = createHash('sha256');

  constructor({ model, system, tools }: MessagesRequest) {
    this.add([model, system, tools]);
  }

  addAll(messages: readonly unknown[]): this {
    for (const message of messages) this.add(message);
    return this;
  }

  get value(): string {
    return this.hash.copy().digest('base64url');
  }

  private add(part: unknown): void {
    const json = JSON.stringify(part);
    this.hash.update(json.includes('"cache_control"') ? JSON.stringify(part, withoutMarkers) : json);
    this.hash.update('\n');
  }
}

function withoutMarkers(key: string, value: unknown): unknown {
  return key === 'cache_control' ? undefined : value;
}

/** A digest of the parts of an answer that the client returns. */
function digestOf(answer: readonly (AnswerBlock | AssistantBlock)[]): string {
  const text = textOf(answer);
  const calls = answer.filter(isToolUse).map(({ id, name, input }) => [id, name, input]);
  return createHash('sha256')
    .update(JSON.stringify([text.trim() === '' ? '' : text, calls]))
    .digest('base64url');
}

function textOf(answer: readonly (AnswerBlock | AssistantBlock)[]): string {
  return answer.map((block) => (block.type === 'text' ? block.text : '')).join('');
}

function isToolUse(block: { readonly type: string }): block is ToolUseBlock {
  return block.type === 'tool_use';
}

function isThinkingBlock(block: { readonly type: string }): block is ThinkingBlock {
  return block.type === 'thinking' || block.type === 'redacted_thinking';
}

/** `null` for a state that is absent, was refused, or has another version. */
function parseState(text: string | undefined): ReasoningState | null {
  if (text === undefined) return null;
  try {
    const state: unknown = JSON.parse(text);
    return isJsonObject(state) && isState(state) ? state : null;
  } catch {
    return null;
  }
}

function isState(state: JsonObject): state is JsonObject & ReasoningState {
  return typeof state['before'] === 'string' && typeof state['content'] === 'string' && Array.isArray(state['layout']);
}
