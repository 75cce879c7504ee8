import type { ChatRequest } from '../../contract/chat';
import type { ModelFeatures } from '../../contract/provider-call';
import { isJsonObject, type JsonObject } from '../../kit/json';
import { unsupported } from '../../kit/unsupported';
import type { UpstreamMessage, UpstreamTool, UpstreamToolChoice } from './messages-format';
import { toSupportedSchema } from './schema-keywords';
import { cacheControlOf } from './to-content';

interface ToolFields {
  readonly tools?: UpstreamTool[];
  readonly tool_choice?: UpstreamToolChoice;
}

/** @throws ProviderError `validation_failed` for tools and choices that the model does not have */
export function toTools(
  { tools, tool_choice: choice, parallel_tool_calls: parallel }: ChatRequest,
  features: ModelFeatures,
): ToolFields {
  const given = Array.isArray(tools) ? tools : [];
  if (given.length > 0 && features.tools === false) throw unsupported('tools');
  const all = given.map((tool: unknown, at) => toTool(tool, `tools[${at}]`));
  const { allowed, choice: wanted } = toChoice(choice);
  const offered = allowed === null ? all : all.filter(({ name }) => allowed.has(name));
  if (offered.length === 0) {
    if (isForced(wanted))
      throw unsupported('tool_choice', 'The tool_choice requires a call of a tool that the request does not contain.');
    return {};
  }
  if (isForced(wanted) && features.forced_tools === false) {
    throw unsupported('tool_choice', 'With this model tool_choice must be auto or none.');
  }
  if (parallel === false && wanted?.type !== 'none') {
    return { tools: offered, tool_choice: { ...(wanted ?? { type: 'auto' }), disable_parallel_tool_use: true } };
  }
  return { tools: offered, ...(wanted !== null && { tool_choice: wanted }) };
}

/**
 * The upstream refuses a conversation with tool calls if the request has no tools
 * (https://github.com/anthropics/anthropic-sdk-python/issues/494), but clients omit the tools to end a tool loop. The
 * called tools are then declared, and the model must not call them again.
 */
export function withCalledTools(fields: ToolFields, messages: readonly UpstreamMessage[]): ToolFields {
  if (fields.tools !== undefined) return fields;
  const names = new Set(
    messages.flatMap(({ content }) => content.flatMap((block) => (block.type === 'tool_use' ? [block.name] : []))),
  );
  if (names.size === 0) return fields;
  const tools = [...names].map((name): UpstreamTool => ({ name, input_schema: { type: 'object' } }));
  return { tools, tool_choice: { type: 'none' } };
}

export function isForced(choice: UpstreamToolChoice | null | undefined): boolean {
  return choice?.type === 'any' || choice?.type === 'tool';
}

function toTool(tool: unknown, path: string): UpstreamTool {
  const { type, function: declared } = isJsonObject(tool) ? tool : {};
  if (type !== 'function' || !isJsonObject(declared))
    throw unsupported(path, 'This model supports function tools only.');
  const { name, description, parameters, strict } = declared;
  const schema = isJsonObject(parameters) ? parameters : {};
  return {
    name: typeof name === 'string' ? name : '',
    ...(typeof description === 'string' && description !== '' && { description }),
    input_schema: {
      ...(strict === true ? toSupportedSchema({ type: 'object', ...schema }, `${path}.function.parameters`) : schema),
      type: 'object',
    },
    ...(strict === true && { strict }),
    ...cacheControlOf(declared),
    ...cacheControlOf(tool as JsonObject),
  };
}

interface Choice {
  readonly choice: Exclude<UpstreamToolChoice, { type: 'none' }> | { type: 'none' } | null;
  /** The names to choose from; `null`: all. */
  readonly allowed: ReadonlySet<string> | null;
}

function toChoice(choice: unknown): Choice {
  if (choice == null) return { choice: null, allowed: null };
  if (choice === 'auto' || choice === 'none') return { choice: { type: choice }, allowed: null };
  if (choice === 'required') return { choice: { type: 'any' }, allowed: null };
  if (isJsonObject(choice)) {
    const { function: named, allowed_tools: list } = choice;
    if (choice['type'] === 'function' && isJsonObject(named) && typeof named['name'] === 'string') {
      return { choice: { type: 'tool', name: named['name'] }, allowed: null };
    }
    if (choice['type'] === 'allowed_tools' && isJsonObject(list) && Array.isArray(list['tools'])) {
      const allowed = new Set(list['tools'].map(nameOf));
      return { choice: { type: list['mode'] === 'required' ? 'any' : 'auto' }, allowed };
    }
  }
  throw unsupported('tool_choice', 'This model supports function tools only.');
}

function nameOf(tool: unknown): string {
  const called = isJsonObject(tool) ? tool['function'] : null;
  return isJsonObject(called) && typeof called['name'] === 'string' ? called['name'] : '';
}
