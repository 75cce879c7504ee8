import type { ChatRequest } from '../../contract/chat';
import { ProviderError } from '../../contract/provider-error';
import type { Conversation } from './conversation';
import { instanceOf } from './json-schema-instance';
import { asRecord, UnsatisfiableSchema } from './json-schema-keywords';
import { PromptHints } from './prompt-hints';

/** A function that the mock wants called. */
export interface ToolCall {
  readonly name: string;
  /** JSON text; of a custom tool its input. */
  readonly arguments: string;
  readonly custom: boolean;
}

interface Tool {
  readonly name: string;
  /** Whether it takes plain text instead of JSON. */
  readonly custom: boolean;
  readonly parameters: unknown;
  /** JSON path of the parameters in the request. */
  readonly param: string;
}

const NO_WORDS: ReadonlySet<string> = new Set();
/** Words of function names that say nothing about the topic. */
const EMPTY_WORDS: ReadonlySet<string> = new Set(
  'get set the for and from with find list fetch make call return use tool function current new'.split(' '),
);
/** Verbs that prompts address to the model itself: a tool with such a name must be named as a tool. */
const COMMON_VERBS: ReadonlySet<string> = new Set(
  (
    'add answer apply ask copy create delete describe edit execute explain insert move open patch plan read remove replace ' +
    'run search send show start stop summarize task think translate update view write'
  ).split(' '),
);

/**
 * Decides which functions to call: those that the prompt names, several only where parallel calls are allowed, or the
 * first one when a call is required and none is named. Other functions are never called, because an agent would act on
 * made-up arguments. None when the conversation ends with tool results, so that a loop of calls and results ends.
 * @throws ProviderError `validation_failed` for a choice that names no tool, or parameters that cannot be satisfied.
 */
export function chooseToolCalls(request: ChatRequest, conversation: Conversation): ToolCall[] {
  const choice = request.tool_choice;
  if (!Array.isArray(request.tools) || choice === 'none' || conversation.toolResults.length > 0) {
    return [];
  }
  const tools = allowedTools(readTools(request.tools), choice);
  const named = tools.filter((tool) => isNamed(tool.name, conversation.prompt));
  const wanted = named.length === 0 && isForced(choice) ? tools.slice(0, 1) : named;
  const chosen = request.parallel_tool_calls === false ? wanted.slice(0, 1) : wanted;
  const hints = new PromptHints(conversation);
  return chosen.map((tool) => ({
    name: tool.name,
    arguments: tool.custom ? conversation.prompt : writeArguments(tool, hints),
    custom: tool.custom,
  }));
}

/** Whether a choice forces the model to call a tool. */
function isForced(choice: unknown): boolean {
  if (choice === 'required') return true;
  const { type, allowed_tools: allowed } = asRecord(choice);
  return type === 'function' || type === 'custom' || asRecord(allowed).mode === 'required';
}

function readTools(tools: readonly unknown[]): Tool[] {
  return tools.flatMap((tool, index) => {
    const { type, function: called, custom } = asRecord(tool);
    const { name, parameters } = asRecord(type === 'custom' ? custom : called);
    if (typeof name !== 'string') return [];
    return { name, custom: type === 'custom', parameters, param: `tools[${index}].function.parameters` };
  });
}

function nameOf(reference: unknown): unknown {
  const { type, function: named, custom } = asRecord(reference);
  return asRecord(type === 'custom' ? custom : named).name;
}

/** The tools that `tool_choice` allows: the one it names, those of an `allowed_tools` list, or all. */
function allowedTools(tools: readonly Tool[], choice: unknown): readonly Tool[] {
  const { type, allowed_tools: allowed } = asRecord(choice);
  if (type === 'function' || type === 'custom') {
    const found = tools.filter((tool) => tool.name === nameOf(choice));
    if (found.length === 0) {
      throw new ProviderError('validation_failed', 'The tool choice names a function that is not among the tools.', {
        phase: 'headers',
        fallback: false,
        param: 'tool_choice',
      });
    }
    return found;
  }
  const list = asRecord(allowed).tools;
  if (type === 'allowed_tools' && Array.isArray(list)) {
    const names = new Set(list.map(nameOf));
    return tools.filter((tool) => names.has(tool.name));
  }
  return tools;
}

/**
 * Whether a prompt names a tool: as it is written ("call get_weather"), or by all words of its name that mean something
 * ("the weather in Paris"). A name that is only a common verb, such as `write`, must be called a tool or be quoted.
 */
function isNamed(name: string, prompt: string): boolean {
  if (isWritten(name, prompt)) return true;
  const words = [...wordsOf(name, EMPTY_WORDS)];
  if (words.every((word) => COMMON_VERBS.has(word))) return false;
  const mentioned = wordsOf(prompt, NO_WORDS);
  return words.every((word) => mentioned.has(word));
}

const COMPOUND_NAME = /[_-]|\p{Ll}\p{Lu}/u;

/** Whether the name itself is in the prompt; an ordinary word only counts in quotes or next to "tool". */
function isWritten(name: string, prompt: string): boolean {
  const text = prompt.toLowerCase();
  const sought = name.toLowerCase();
  if (COMPOUND_NAME.test(name)) return text.split(/[^\p{L}\p{N}_-]+/u).includes(sought);
  const forms = [`"${sought}"`, `'${sought}'`, `\`${sought}\``];
  const besideTool = ['tool', 'function'].flatMap((noun) => [` ${sought} ${noun} `, ` ${noun} ${sought} `]);
  const spaced = ` ${text.replace(/[^\p{L}\p{N}]+/gu, ' ')} `;
  return forms.some((form) => text.includes(form)) || besideTool.some((form) => spaced.includes(form));
}

/** Words of a name (`getWeather`, `get_weather`) or a text, without plural endings and excluded words. */
function wordsOf(text: string, leftOut: ReadonlySet<string>): Set<string> {
  const words =
    text
      .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  return new Set(words.filter((word) => word.length > 2 && !leftOut.has(word)).map((word) => word.replace(/s$/, '')));
}

function writeArguments(tool: Tool, hints: PromptHints): string {
  if (tool.parameters === undefined || tool.parameters === null) {
    return '{}';
  }
  return writeInstance({ type: 'object', ...asRecord(tool.parameters) }, hints, tool.param);
}

/** JSON text that is valid for a schema. `param` is the schema's place in the request, for the error. */
export function writeInstance(schema: unknown, hints: PromptHints, param: string): string {
  try {
    return JSON.stringify(instanceOf(schema, hints));
  } catch (error) {
    if (error instanceof UnsatisfiableSchema) {
      throw new ProviderError('validation_failed', 'The mock finds no value that is valid for this JSON Schema.', {
        phase: 'headers',
        fallback: false,
        param,
        cause: error,
      });
    }
    throw error;
  }
}
