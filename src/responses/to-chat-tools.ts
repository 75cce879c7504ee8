import type { ResponseRequestDto } from './dto/response-request.dto';
import type { ResponseToolDto } from './dto/response-tool.dto';

type ToolChoice = NonNullable<ResponseRequestDto['tool_choice']>;

/** The functions among the tools; tools that a vendor would run by itself are ignored. */
export function functionsOf(tools: readonly ResponseToolDto[] | null | undefined): readonly ResponseToolDto[] {
  return tools?.filter((tool) => !isIgnored(tool)) ?? [];
}

/** Whether a tool is of a type that is not offered. What is no tool at all is not ignored, but refused. */
export function isIgnored(tool: unknown): boolean {
  return isObject(tool) && tool['type'] !== 'function';
}

/** A function as chat has it. */
export function toChatTool({ name, description, parameters, strict }: ResponseToolDto): object {
  return {
    type: 'function',
    function: {
      name,
      ...(description != null && { description }),
      ...(parameters != null && { parameters }),
      ...(strict != null && { strict }),
    },
  };
}

/** Whether a choice is about functions. A choice of an ignored tool is ignored with it. */
export function isFunctionChoice(choice: ToolChoice): boolean {
  return typeof choice === 'string' || choice['type'] === 'function' || choice['type'] === 'allowed_tools';
}

/** A choice among functions as chat has it. */
export function toChatToolChoice(choice: ToolChoice): unknown {
  if (typeof choice === 'string') return choice;
  const { type, name, mode, tools } = choice;
  if (type === 'function') return { type, function: { name } };
  return { type, allowed_tools: { mode, tools: Array.isArray(tools) ? toNamedTools(tools) : tools } };
}

function toNamedTools(tools: readonly unknown[]): unknown[] {
  return tools
    .filter((tool) => !isIgnored(tool))
    .map((tool) => (isObject(tool) ? { type: 'function', function: { name: tool['name'] } } : tool));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
