/**
 * Tool choices for servers that only take the words `none`, `auto` and `required`. For an object, llama.cpp answers as
 * for `auto` (https://github.com/ggml-org/llama.cpp/issues/26535), and LM Studio refuses the request
 * (https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/670).
 */
import { isJsonObject, type JsonObject } from '../../kit/json';
import { unsupported } from '../../kit/unsupported';

/** The tools that may be called, and the word that says whether the model must call one. */
export interface WordChoice {
  readonly tools: readonly unknown[];
  readonly word: string;
}

/**
 * Converts a choice that names tools to a word with only these tools, so that the model cannot call others.
 * @returns `null` for a choice that is already a word, or missing
 * @throws ProviderError `validation_failed` for a tool that the request does not have
 */
export function toWordChoice(tools: unknown, choice: unknown): WordChoice | null {
  if (!Array.isArray(tools) || !isJsonObject(choice)) return null;
  const { allowed_tools: allowed } = choice;
  const list = isJsonObject(allowed) && Array.isArray(allowed['tools']) ? allowed['tools'].filter(isJsonObject) : null;
  const chosen = (list ?? [choice]).map(keyOf);
  const known = new Map(tools.filter(isJsonObject).map((tool) => [keyOf(tool), tool]));
  const named = chosen.flatMap((key) => known.get(key) ?? []);
  if (named.length === 0 || named.length < chosen.length) {
    throw unsupported('tool_choice', 'tool_choice names a tool that the request does not have.');
  }
  const mode = isJsonObject(allowed) ? allowed['mode'] : 'required';
  return { tools: named, word: mode === 'auto' ? 'auto' : 'required' };
}

/** Two tools of different types may have the same name. */
function keyOf(tool: JsonObject): string {
  const type = String(tool['type']);
  const named = tool[type];
  return JSON.stringify([type, isJsonObject(named) ? named['name'] : null]);
}
