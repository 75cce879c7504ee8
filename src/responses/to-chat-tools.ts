import type { ResponseRequestDto, ResponseToolDto } from './dto/response-request.dto';

type ToolChoice = NonNullable<ResponseRequestDto['tool_choice']>;

/** Types of tools that the client runs. */
const CLIENT_TYPES: ReadonlySet<unknown> = new Set(['function', 'custom']);

/** The tools run by the client; provider-run tools are ignored. */
export function clientToolsOf(tools: readonly ResponseToolDto[] | null | undefined): readonly ResponseToolDto[] {
  return tools?.filter((tool) => !isIgnored(tool)) ?? [];
}

/** Whether a tool has an unsupported type. Values that are not tools are not ignored but rejected later. */
export function isIgnored(tool: unknown): boolean {
  return isObject(tool) && !CLIENT_TYPES.has(tool['type']);
}

/** Converts a tool to the chat format. */
export function toChatTool(tool: ResponseToolDto): object {
  const { type, name, description, parameters, strict } = tool;
  const described = { name, ...(description != null && { description }) };
  if (type === 'custom') {
    const format = toChatFormat(formatOf(tool));
    return { type, custom: { ...described, ...(format != null && { format }) } };
  }
  return {
    type: 'function',
    function: {
      ...described,
      ...(parameters != null && { parameters }),
      ...(strict != null && { strict }),
    },
  };
}

/** The format of a custom tool, unvalidated: tools of other types may have a field of this name too. */
export function formatOf(tool: ResponseToolDto): unknown {
  return (tool as { readonly format?: unknown }).format;
}

function toChatFormat(format: unknown): unknown {
  if (!isObject(format) || format['type'] !== 'grammar') return format;
  const { type, ...grammar } = format;
  return { type, grammar };
}

/** Whether a choice concerns client tools. The choice of an ignored tool is ignored too. */
export function isClientChoice(choice: ToolChoice): boolean {
  return typeof choice === 'string' || CLIENT_TYPES.has(choice['type']) || choice['type'] === 'allowed_tools';
}

/** Converts a tool choice to the chat format. */
export function toChatToolChoice(choice: ToolChoice): unknown {
  if (typeof choice === 'string') return choice;
  const { type, mode, tools } = choice;
  if (CLIENT_TYPES.has(type)) return toNamedTool(choice);
  return { type, allowed_tools: { mode, tools: Array.isArray(tools) ? toNamedTools(tools) : tools } };
}

function toNamedTools(tools: readonly unknown[]): unknown[] {
  return tools.filter((tool) => !isIgnored(tool)).map((tool) => (isObject(tool) ? toNamedTool(tool) : tool));
}

function toNamedTool({ type, name }: Readonly<Record<string, unknown>>): object {
  return type === 'custom' ? { type, custom: { name } } : { type, function: { name } };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
