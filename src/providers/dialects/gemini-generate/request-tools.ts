import type { ChatRequest } from '../../contract/chat';
import { isJsonObject, type JsonObject } from '../../kit/json';
import { unsupported } from '../../kit/unsupported';
import { SchemaReferences } from './schema-references';

/** The members of a request that concern tools; both absent without tools. */
export interface RequestTools {
  readonly tools?: readonly JsonObject[];
  readonly toolConfig?: JsonObject;
}

/** @throws ProviderError `validation_failed` with `param` */
export function toTools({ tools: offered, tool_choice: choice }: ChatRequest): RequestTools {
  if (!Array.isArray(offered) || offered.length === 0) return {};
  const functions = offered.map((tool: unknown, index) => functionOf(tool, `tools[${index}]`));
  const calling = toCallingConfig(choice, functions);
  const references = new SchemaReferences();
  return {
    tools: [{ functionDeclarations: functions.map((described) => toDeclaration(described, references)) }],
    ...(calling !== null && { toolConfig: { functionCallingConfig: calling } }),
  };
}

function functionOf(tool: unknown, path: string): JsonObject {
  const { function: described } = isJsonObject(tool) ? tool : {};
  if (!isJsonObject(described)) throw unsupported(path, 'This model supports tools of the type function only.');
  return described;
}

function toDeclaration({ name, description, parameters }: JsonObject, references: SchemaReferences): JsonObject {
  return {
    name,
    ...(typeof description === 'string' && description !== '' && { description }),
    // A function without parameters has no schema at all.
    ...(hasParameters(parameters) && { parametersJsonSchema: references.resolve(parameters) }),
  };
}

function hasParameters(parameters: unknown): parameters is JsonObject {
  if (!isJsonObject(parameters)) return false;
  const { type, properties, ...rest } = parameters;
  const isEmpty = properties == null || (isJsonObject(properties) && Object.keys(properties).length === 0);
  const restrictsNothing = Object.keys(rest).every((key) =>
    ['additionalProperties', 'required', '$schema'].includes(key),
  );
  return !((type === 'object' || type === undefined) && isEmpty && restrictsNothing);
}

/**
 * `VALIDATED` is `AUTO` with arguments that match their schema; with `ANY` they always match:
 * https://ai.google.dev/gemini-api/docs/function-calling
 * @returns `null` for the default
 */
function toCallingConfig(choice: unknown, functions: readonly JsonObject[]): JsonObject | null {
  const free = functions.some(({ strict }) => strict === true) ? { mode: 'VALIDATED' } : null;
  if (choice == null || choice === 'auto') return free;
  if (choice === 'none') return { mode: 'NONE' };
  if (choice === 'required') return { mode: 'ANY' };
  const { allowed_tools: allowed } = isJsonObject(choice) ? choice : {};
  if (!isJsonObject(allowed)) return { mode: 'ANY', allowedFunctionNames: [chosenName(choice, 'tool_choice')] };
  const names = (Array.isArray(allowed['tools']) ? allowed['tools'] : []).map((tool: unknown, index) =>
    chosenName(tool, `tool_choice.allowed_tools.tools[${index}]`),
  );
  // An empty list would allow every function.
  if (names.length === 0) return { mode: 'NONE' };
  return { mode: allowed['mode'] === 'required' ? 'ANY' : 'VALIDATED', allowedFunctionNames: names };
}

function chosenName(choice: unknown, path: string): string {
  const { function: chosen } = isJsonObject(choice) ? choice : {};
  if (isJsonObject(chosen) && typeof chosen['name'] === 'string') return chosen['name'];
  throw unsupported(path, 'This model supports tools of the type function only.');
}
