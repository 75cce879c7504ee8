import { randomUUID } from 'node:crypto';
import type { ChatRequest } from '../../contract/chat';
import { NO_USAGE, type UsageVector } from '../../contract/usage';
import { writeAnswer, writeSentence, writeTokens } from './answer-text';
import type { Conversation } from './conversation';
import { asRecord } from './json-schema-keywords';
import { namedKeys, schemaOfKeys } from './read-prompt';
import { PromptHints } from './prompt-hints';
import { chooseToolCalls, writeInstance, type ToolCall } from './tool-caller';
import { readTopic } from './read-prompt';
import { tokenize } from './tokens';

/** The complete reply, planned before anything is sent; it can be streamed or sent whole. */
export interface ReplyPlan {
  /** Tokens of the text; `null` when tools are called instead. */
  readonly content: readonly string[] | null;
  readonly toolCalls: readonly PlannedToolCall[];
  readonly finishReason: 'stop' | 'length' | 'tool_calls';
  /** `null` when the script withholds it. */
  readonly usage: UsageVector | null;
}

export interface PlannedToolCall {
  readonly id: string;
  readonly name: string;
  /** Tokens of the JSON text, or of the input of a custom tool. */
  readonly arguments: readonly string[];
  readonly custom: boolean;
}

/** @throws ProviderError `validation_failed` for tools or schemas that cannot be satisfied. */
export function planReply(request: ChatRequest, conversation: Conversation): ReplyPlan {
  const { script } = conversation;
  const limit = Math.min(request.max_tokens ?? Infinity, request.max_completion_tokens ?? Infinity);
  const calls = chooseToolCalls(request, conversation);
  const planned = calls.length > 0 ? planCalls(calls, limit) : planText(request, conversation, limit);
  return {
    ...planned,
    usage: script.noUsage
      ? null
      : {
          ...NO_USAGE,
          inputText: script.usagePrompt ?? conversation.promptTokens,
          outputText: script.usageCompletion ?? countTokens(planned),
        },
  };
}

type PlannedContent = Omit<ReplyPlan, 'usage'>;

function countTokens({ content, toolCalls }: PlannedContent): number {
  return toolCalls.reduce((sum, call) => sum + call.arguments.length, content?.length ?? 0);
}

/** Arguments count against the limit like text, and are cut at it. */
function planCalls(calls: readonly ToolCall[], limit: number): PlannedContent {
  const toolCalls: PlannedToolCall[] = [];
  let left = limit;
  for (const call of calls) {
    const tokens = tokenize(call.arguments);
    toolCalls.push({ id: newCallId(), name: call.name, arguments: tokens.slice(0, left), custom: call.custom });
    left -= tokens.length;
    if (left < 0) {
      break;
    }
  }
  return { content: null, toolCalls, finishReason: left < 0 ? 'length' : 'tool_calls' };
}

function newCallId(): string {
  return `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`;
}

function planText(request: ChatRequest, conversation: Conversation, limit: number): PlannedContent {
  const tokens = cutAtStop(textTokens(request, conversation), request.stop);
  const isCut = tokens.length > limit;
  return { content: isCut ? tokens.slice(0, limit) : tokens, toolCalls: [], finishReason: isCut ? 'length' : 'stop' };
}

function textTokens(request: ChatRequest, conversation: Conversation): string[] {
  const { script } = conversation;
  const json = writeJson(request, conversation);
  if (json !== null) {
    return tokenize(json);
  }
  if (script.tokens !== undefined) {
    return writeTokens(conversation, script.tokens);
  }
  const tokens = tokenize(writeAnswer(conversation));
  return script.chunks !== undefined && script.chunks > tokens.length
    ? writeTokens(conversation, script.chunks)
    : tokens;
}

/** The JSON text that `response_format` requests; `null` when it requests none. */
function writeJson(request: ChatRequest, conversation: Conversation): string | null {
  const format = asRecord(request.response_format);
  switch (format.type) {
    case 'json_object': {
      const keys = namedKeys(`${conversation.instructions} ${conversation.prompt}`);
      if (keys.length > 0) {
        return writeInstance(schemaOfKeys(keys), new PromptHints(conversation), 'response_format');
      }
      return JSON.stringify({ answer: writeSentence(conversation, 0), topic: readTopic(conversation.prompt) });
    }
    case 'json_schema': {
      const { schema = {} } = asRecord(format.json_schema);
      return writeInstance(schema, new PromptHints(conversation), 'response_format.json_schema.schema');
    }
    default:
      return null;
  }
}

/** Ends the text before the first of the stop sequences. */
function cutAtStop(tokens: string[], stop: unknown): string[] {
  const sequences = [stop].flat().filter((sequence) => typeof sequence === 'string' && sequence !== '');
  if (sequences.length === 0) {
    return tokens;
  }
  const text = tokens.join('');
  const found = sequences.map((sequence) => text.indexOf(String(sequence))).filter((at) => at >= 0);
  return found.length === 0 ? tokens : tokenize(text.slice(0, Math.min(...found)));
}
