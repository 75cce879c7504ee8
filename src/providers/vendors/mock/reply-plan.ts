import type { ChatRequest } from '../../contract/chat';
import { NO_USAGE, type UsageVector } from '../../contract/usage';
import { type Conversation, PromptValues } from './conversation';
import { asRecord, writeInstance } from './schema-instance';
import type { Script } from './scripted-call';
import { headOf, tokenize } from './text';
import { chooseToolCalls, type ToolCall } from './tool-calls';

/** The complete reply, planned before anything is sent; it can be streamed or sent whole. */
export interface ReplyPlan {
  /** Tokens of the text; `null` when tools are called instead. */
  readonly content: readonly string[] | null;
  readonly toolCalls: readonly PlannedToolCall[];
  readonly finishReason: 'stop' | 'length' | 'tool_calls';
  /** `null` when the script withholds it. */
  readonly usage: UsageVector | null;
}

export interface PlannedToolCall extends Omit<ToolCall, 'input'> {
  /** Tokens of the JSON text, or of the input of a custom tool. */
  readonly input: readonly string[];
}

const SENTENCES = [
  'The short version is that it works best when every part has one clear job.',
  'A good first step is to write down what it must do and how you would notice that it does.',
  'People who know this well start small, measure, and change one thing at a time.',
  'There are three sides to it, namely what goes in, what comes out, and what may go wrong between them.',
  'If the result surprises you, look at the simplest case first.',
  'Most of what matters here can be found by trying it once with real input.',
  'In practice it is limited less by theory than by time and attention.',
  'The details differ from place to place, but the outline stays the same.',
];
const DEFAULT_SENTENCES = 3;
const QUOTE_LENGTH = 160;

/** @throws ProviderError `validation_failed` for tools or schemas that cannot be satisfied */
export function planReply(request: ChatRequest, conversation: Conversation, script: Script): ReplyPlan {
  const toolCalls = chooseToolCalls(request, conversation).map((call) => ({ ...call, input: tokenize(call.input) }));
  const text = toolCalls.length > 0 ? null : cutAtStop(textTokens(request, conversation, script), request.stop);
  const limit = Math.min(request.max_tokens ?? Infinity, request.max_completion_tokens ?? Infinity);
  const content = text?.slice(0, limit) ?? null;
  const isCut = content !== null && content.length < (text?.length ?? 0);
  const outputText = toolCalls.reduce((sum, { input }) => sum + input.length, content?.length ?? 0);
  const { noUsage, usagePrompt = conversation.promptTokens, usageCompletion = outputText } = script;
  return {
    content,
    toolCalls,
    finishReason: isCut ? 'length' : content === null ? 'tool_calls' : 'stop',
    usage: noUsage ? null : { ...NO_USAGE, inputText: usagePrompt, outputText: usageCompletion },
  };
}

function textTokens(request: ChatRequest, conversation: Conversation, { tokens, chunks = 0 }: Script): string[] {
  const json = writeJson(request, conversation);
  if (json !== null) return tokenize(json);
  const usual = tokenize(writeSentences(conversation, DEFAULT_SENTENCES));
  const count = tokens ?? Math.max(chunks, usual.length);
  // A sentence has more than ten tokens.
  const enough = count <= usual.length ? usual : tokenize(writeSentences(conversation, Math.ceil(count / 10)));
  return enough.slice(0, count);
}

/** Prose that first repeats the question, so that new users see their request arrive. */
function writeSentences({ prompt, attachments, toolResults, seed }: Conversation, count: number): string {
  const question = prompt === '' ? '' : `"${quotable(prompt)}"`;
  const enclosed = attachments.join(' and ');
  const findings = toolResults.map(({ name, text }) => `${name} returned ${quotable(text) || 'nothing'}`);
  const asked = question === '' ? `You sent ${enclosed || 'no question'}` : `You asked ${question}`;
  const opening =
    findings.length > 0
      ? `${findings.join(', and ')}, which answers ${question || 'the question'}.`
      : `${asked}${question && enclosed && ` with ${enclosed}`}, and this is the mock model answering.`;
  const others = Array.from({ length: count - 1 }, (_, index) => SENTENCES[(seed + index) % SENTENCES.length]);
  return [opening, ...others].join(' ');
}

/** The JSON text that `response_format` requests; `null` when it requests none. */
function writeJson({ response_format: requested }: ChatRequest, conversation: Conversation): string | null {
  const { type, json_schema: format } = asRecord(requested);
  if (type === 'json_object') return JSON.stringify({ answer: writeSentences(conversation, 1) });
  if (type !== 'json_schema') return null;
  const { schema = {} } = asRecord(format);
  return writeInstance(schema, new PromptValues(conversation.prompt), 'response_format.json_schema.schema');
}

/** Ends the text before the first of the stop sequences. */
function cutAtStop(tokens: string[], stop: unknown): string[] {
  const text = tokens.join('');
  const sequences = [stop].flat().filter((sequence) => typeof sequence === 'string' && sequence !== '');
  const found = sequences.map((sequence) => text.indexOf(String(sequence))).filter((at) => at >= 0);
  return found.length === 0 ? tokens : tokenize(text.slice(0, Math.min(...found)));
}

/** The start of a text as a phrase inside another sentence. */
function quotable(text: string): string {
  const phrase = text.replace(/[.!?]+(?= )/g, ',').replace(/[.!?,]+$/, '');
  if (phrase.length <= QUOTE_LENGTH) return phrase;
  return `${tokenize(headOf(phrase, QUOTE_LENGTH)).slice(0, -1).join('')}…`;
}
