import type { ChatRequest } from '../../contract/chat';
import { ProviderError } from '../../contract/provider-error';
import type { Conversation } from './conversation';
import { instanceOf } from './json-schema-instance';
import { asRecord, UnsatisfiableSchema } from './json-schema-keywords';
import { PromptHints } from './prompt-hints';

/** A function that the mock wants called. */
export interface ToolCall {
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

interface Tool {
  readonly name: string;
  readonly description: string;
  readonly parameters: unknown;
  /** JSON path of the parameters in the request. */
  readonly param: string;
}

/** Verbs that most function names begin with, and words that most descriptions hold. */
const EMPTY_WORDS: ReadonlySet<string> = new Set(
  (
    'get set the for and from with this that given use used call returns return list find fetch make tool function ' +
    'what when which current new'
  ).split(' '),
);

/**
 * Decides which functions to call. Those whose names the prompt mentions, else those whose descriptions it does,
 * else the first; several only where parallel calls are allowed. None when the conversation ends with results of
 * tools, so that a loop of calls and results comes to an end.
 * @throws ProviderError `validation_failed` for a choice that names no tool, or parameters that cannot be met.
 */
export function chooseToolCalls(request: ChatRequest, conversation: Conversation): ToolCall[] {
  const choice = request.tool_choice;
  if (!Array.isArray(request.tools) || choice === 'none' || conversation.toolResults.length > 0) {
    return [];
  }
  const tools = allowedTools(readTools(request.tools), choice);
  const matching = matchingTools(tools, conversation.prompt);
  const chosen = request.parallel_tool_calls === false ? matching.slice(0, 1) : matching;
  const hints = new PromptHints(conversation);
  return chosen.map((tool) => ({ name: tool.name, arguments: writeArguments(tool, hints) }));
}

function readTools(tools: readonly unknown[]): Tool[] {
  return tools.flatMap((tool, index) => {
    const { name, description, parameters } = asRecord(asRecord(tool).function);
    return typeof name === 'string'
      ? {
          name,
          description: typeof description === 'string' ? description : '',
          parameters,
          param: `tools[${index}].function.parameters`,
        }
      : [];
  });
}

/** The tools that `tool_choice` leaves: the one it names, those of an `allowed_tools` list, or all. */
function allowedTools(tools: readonly Tool[], choice: unknown): readonly Tool[] {
  const { type, function: named, allowed_tools: allowed } = asRecord(choice);
  if (type === 'function') {
    const found = tools.filter((tool) => tool.name === asRecord(named).name);
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
    const names = new Set(list.map((tool: unknown) => asRecord(asRecord(tool).function).name));
    return tools.filter((tool) => names.has(tool.name));
  }
  return tools;
}

function matchingTools(tools: readonly Tool[], prompt: string): readonly Tool[] {
  const words = wordsOf(prompt);
  for (const text of [(tool: Tool) => tool.name, (tool: Tool) => tool.description]) {
    const matching = tools.filter((tool) => [...wordsOf(text(tool))].some((word) => words.has(word)));
    if (matching.length > 0) {
      return matching;
    }
  }
  return tools.slice(0, 1);
}

/** Words of a name (`getWeather`, `get_weather`) or a text, without a plural ending. */
function wordsOf(text: string): Set<string> {
  const words =
    text
      .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  return new Set(
    words.filter((word) => word.length > 2 && !EMPTY_WORDS.has(word)).map((word) => word.replace(/s$/, '')),
  );
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
