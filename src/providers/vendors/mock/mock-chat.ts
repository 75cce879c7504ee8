import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../core/time/clock';
import type { ChatCompletionResult, ChatProvider, ChatRequest, ChatStream } from '../../contract/chat';
import type { ChatEvent, TokenLogprob } from '../../contract/chat-event';
import type { ProviderCall } from '../../contract/provider-call';
import { NO_USAGE, type UsageVector } from '../../contract/usage';
import { openEventStream } from '../../kit/event-stream';
import {
  asRecord,
  type Conversation,
  headOf,
  lastUserText,
  PromptValues,
  readConversation,
  seededNumber,
  tokenize,
} from './conversation';
import { writeInstance } from './schema-instance';
import { refused, type Script, ScriptedCall } from './scripted-call';

const TOKEN_DELAY_MS = 2;
const FINGERPRINT = 'fp_mock';

/** Log probabilities of tokens; `first` is the index of the first one in the whole text. */
type Rating = (tokens: readonly string[], first: number) => TokenLogprob[];

/** Chat without a model: a planned reply, sent whole or in pieces, or a scripted failure. */
export class MockChat implements ChatProvider {
  constructor(private readonly clock: Clock) {}

  async complete(request: ChatRequest, call: ProviderCall): Promise<ChatCompletionResult> {
    const { scripted, plan, rate } = this.prepare(request, call);
    const { content, toolCalls, finishReason, usage } = plan;
    const { delayMs = 0, chunks = Infinity } = scripted.script;
    const tokens = [...(content ?? []), ...toolCalls.flatMap(({ input }) => input)];
    await scripted.reply(delayMs * Math.min(chunks, tokens.length));
    const message = {
      role: 'assistant',
      content: content?.join('') ?? null,
      refusal: null,
      ...(toolCalls.length > 0 && { tool_calls: toolCalls.map(toWholeCall) }),
    };
    const logprobs = rate === null || content === null ? null : { content: rate(content, 0), refusal: null };
    return {
      body: {
        id: newReplyId(),
        object: 'chat.completion',
        created: this.nowSeconds(),
        model: call.publicModel,
        choices: [{ index: 0, message, logprobs, finish_reason: finishReason }],
        system_fingerprint: FINGERPRINT,
      },
      usage,
      outputBytes: Buffer.byteLength(tokens.join('')),
    };
  }

  async openStream(request: ChatRequest, call: ProviderCall): Promise<ChatStream> {
    const { scripted, plan, rate } = this.prepare(request, call);
    await scripted.begin();
    const start = { type: 'start', id: newReplyId(), created: this.nowSeconds(), fingerprint: FINGERPRINT } as const;
    return openEventStream(replyEvents(start, plan, rate, scripted), call, this.clock);
  }

  private prepare(request: ChatRequest, call: ProviderCall) {
    const { text, param } = lastUserText(request);
    const scripted = new ScriptedCall(text, param, call, this.clock);
    const conversation = readConversation(request, scripted.text);
    return { scripted, plan: planReply(request, conversation, scripted.script), rate: ratingOf(request, conversation) };
  }

  private nowSeconds(): number {
    return Math.floor(this.clock.now() / 1_000);
  }
}

function newReplyId(): string {
  return `chatcmpl-${randomUUID()}`;
}

function toWholeCall({ id, kind, name, input }: PlannedToolCall): object {
  const text = input.join('');
  return kind === 'custom'
    ? { id, type: kind, custom: { name, input: text } }
    : { id, type: kind, function: { name, arguments: text } };
}

/** The events of a planned reply, one piece at a time, or up to its scripted failure. */
async function* replyEvents(
  start: ChatEvent,
  { content, toolCalls, finishReason, usage }: ReplyPlan,
  rate: Rating | null,
  scripted: ScriptedCall,
): AsyncGenerator<readonly ChatEvent[]> {
  yield content === null ? [start] : [start, { type: 'text', text: '' }];
  const pieces = content === null ? callPieces(toolCalls) : textPieces(content, scripted.script.chunks, rate);
  for await (const piece of scripted.paced(pieces, TOKEN_DELAY_MS)) yield [piece];
  const finish: ChatEvent = { type: 'finish', reason: finishReason };
  yield usage === null ? [finish] : [finish, { type: 'usage', usage }];
}

function* textPieces(tokens: readonly string[], chunks: number | undefined, rate: Rating | null): Generator<ChatEvent> {
  const count = Math.min(chunks ?? tokens.length, tokens.length);
  for (let index = 0; index < count; index++) {
    const from = Math.floor((index * tokens.length) / count);
    const piece = tokens.slice(from, Math.floor(((index + 1) * tokens.length) / count));
    yield { type: 'text', text: piece.join(''), ...(rate !== null && { logprobs: rate(piece, from) }) };
  }
}

/** Id, type and name come first, once; then the input, token by token. */
function* callPieces(calls: readonly PlannedToolCall[]): Generator<ChatEvent> {
  for (const [index, { id, kind, name, input }] of calls.entries()) {
    yield { type: 'tool_call', index, id, kind, name };
    for (const text of input) yield { type: 'tool_input', index, text };
  }
}

const OTHER_TOKENS = ' the| a| and| of| to| in| is| it| on| as| for| by| at| or| an| be| we| so| if| no| but'.split(
  '|',
);

/** Plausible: the chosen token has most of the probability, others share the rest. `null` unless requested. */
function ratingOf({ logprobs, top_logprobs: top }: ChatRequest, { seed }: Conversation): Rating | null {
  if (logprobs !== true) return null;
  return (tokens, first) =>
    tokens.map((token, index) => {
      const share = 0.6 + 0.39 * seededNumber(seed + first + index);
      const others = OTHER_TOKENS.filter((other) => other !== token);
      const ranked = [token, ...others].slice(0, Number(top ?? 0));
      const top_logprobs = ranked.map((each, rank) => rated(each, rank === 0 ? share : (1 - share) / 2 ** rank));
      return { ...rated(token, share), top_logprobs };
    });
}

function rated(token: string, share: number) {
  return { token, logprob: Math.log(share), bytes: Array.from(Buffer.from(token)) };
}

/** The complete reply, planned before anything is sent; it can be streamed or sent whole. */
export interface ReplyPlan {
  /** Tokens of the text; `null` when tools are called instead. */
  readonly content: readonly string[] | null;
  readonly toolCalls: readonly PlannedToolCall[];
  readonly finishReason: 'stop' | 'length' | 'tool_calls';
  /** `null` when the script withholds it. */
  readonly usage: UsageVector | null;
}

interface PlannedToolCall extends Omit<ToolCall, 'input'> {
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

/** A tool call of the mock. */
export interface ToolCall {
  readonly id: string;
  readonly kind: 'function' | 'custom';
  readonly name: string;
  /** JSON text, or the input of a custom tool. */
  readonly input: string;
}

interface Tool {
  readonly kind: 'function' | 'custom';
  readonly name: string;
  readonly parameters: unknown;
  /** JSON path of the parameters in the request. */
  readonly param: string;
}

/** Words of tool names that say nothing about the topic. */
const EMPTY_WORDS: ReadonlySet<string> = new Set(
  'get set the for and from with find list fetch new current'.split(' '),
);

/**
 * Decides which tools to call: those that the prompt names, several only where parallel calls are allowed, or the first
 * one when a call is required and none is named. Other tools are never called, because an agent would act on made-up
 * arguments. After tool results only a required call is made, of the first tool that has not been called yet: agents
 * that require one get their last answer as a call, and a loop of calls and results ends.
 * @throws ProviderError `validation_failed` for a choice that names no tool, or parameters that cannot be satisfied
 */
export function chooseToolCalls(request: ChatRequest, { prompt, toolResults, calledTools }: Conversation): ToolCall[] {
  const { tools, tool_choice: choice, parallel_tool_calls: parallel } = request;
  if (!Array.isArray(tools) || choice === 'none') return [];
  const { allowed, isForced } = readChoice(tools.flatMap(readTool), choice);
  const isContinued = toolResults.length > 0;
  const uncalled = isContinued ? allowed.filter(({ name }) => !calledTools.has(name)) : allowed;
  const named = isContinued ? [] : allowed.filter(({ name }) => isNamed(name, prompt));
  const wanted = named.length === 0 && isForced ? uncalled.slice(0, 1) : named;
  const values = new PromptValues(prompt);
  return (parallel === false ? wanted.slice(0, 1) : wanted).map(({ kind, name, parameters, param }) => ({
    id: `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`,
    kind,
    name,
    input: kind === 'custom' ? prompt : writeInstance({ type: 'object', ...asRecord(parameters) }, values, param),
  }));
}

function readTool(tool: unknown, index: number): Tool[] {
  const kind = asRecord(tool).type === 'custom' ? 'custom' : 'function';
  const { name, parameters } = asRecord(asRecord(tool)[kind]);
  if (typeof name !== 'string') return [];
  return [{ kind, name, parameters, param: `tools[${index}].function.parameters` }];
}

/** The tools that `tool_choice` allows: the one it names, those of an `allowed_tools` list, or all. */
function readChoice(tools: readonly Tool[], choice: unknown): { allowed: readonly Tool[]; isForced: boolean } {
  const { type, allowed_tools: list } = asRecord(choice);
  if (type === 'allowed_tools') {
    const { mode, tools: listed } = asRecord(list);
    const names = new Set((Array.isArray(listed) ? listed : []).flatMap(readTool).map(({ name }) => name));
    return { allowed: tools.filter(({ name }) => names.has(name)), isForced: mode === 'required' };
  }
  if (type !== 'function' && type !== 'custom') return { allowed: tools, isForced: choice === 'required' };
  const [chosen] = readTool(choice, 0);
  const allowed = tools.filter(({ name }) => name === chosen?.name);
  if (allowed.length === 0)
    throw refused('The tool choice names a function that is not among the tools.', 'tool_choice');
  return { allowed, isForced: true };
}

/**
 * Whether a prompt names a tool, by all words of its name that mean something ("the weather in Paris"). A name of one
 * word must be quoted or called a tool: many are verbs that prompts address to the model, such as `write`.
 */
function isNamed(name: string, prompt: string): boolean {
  const words = wordsOf(name);
  const mentioned = new Set(wordsOf(prompt));
  if (words.length > 1) return words.every((word) => EMPTY_WORDS.has(word) || mentioned.has(word));
  const forms = ['`$`', '"$"', "'$'", '$ tool', 'tool $', '$ function', 'function $'];
  return forms.some((form) => prompt.toLowerCase().includes(form.replace('$', () => name.toLowerCase())));
}

/** Words of a name (`getWeather`, `get_weather`) or a text, without plural endings. */
function wordsOf(text: string): string[] {
  const spaced = text.replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2').toLowerCase();
  return (spaced.match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => word.replace(/s$/, ''));
}
