import { randomUUID } from 'node:crypto';
import type { ChatRequest } from '../../contract/chat';
import { type Conversation, PromptValues } from './conversation';
import { asRecord, writeInstance } from './schema-instance';
import { refused } from './scripted-call';

/** A tool call of the mock. */
export interface ToolCall {
  readonly id: string;
  readonly kind: 'function' | 'custom';
  readonly name: string;
  /** JSON text; of a custom tool its input. */
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
 * arguments. None when the conversation ends with tool results, so that a loop of calls and results ends.
 * @throws ProviderError `validation_failed` for a choice that names no tool, or parameters that cannot be satisfied
 */
export function chooseToolCalls(request: ChatRequest, { prompt, toolResults }: Conversation): ToolCall[] {
  const { tools, tool_choice: choice, parallel_tool_calls: parallel } = request;
  if (!Array.isArray(tools) || choice === 'none' || toolResults.length > 0) return [];
  const { allowed, isForced } = readChoice(tools.flatMap(readTool), choice);
  const named = allowed.filter(({ name }) => isNamed(name, prompt));
  const wanted = named.length === 0 && isForced ? allowed.slice(0, 1) : named;
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
