/**
 * Tool choices at servers that take the words `none`, `auto` and `required` only. llama.cpp answers as if it had got
 * `auto` (https://github.com/ggml-org/llama.cpp/issues/26535), LM Studio refuses an object
 * (https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/670).
 */
import { isJsonObject, type JsonObject } from '../../kit/json';
import { unsupported } from '../../kit/unsupported';

/** The tools that may be called, and the word that says whether one must be. */
export interface WordChoice {
  readonly tools: readonly unknown[];
  readonly word: string;
}

/**
 * A choice that names tools, as a word for these tools alone: the model can then call no other.
 * @returns `null` for a choice that is a word already, or missing
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
