/** The Interactions API of Gemini (https://ai.google.dev/gemini-api/docs/interactions-overview). */
import { isJsonObject, type JsonObject } from '../../kit/json';

/** The first content of the type in the model's output; `null`: there is none. */
export function contentOf({ steps }: JsonObject, type: 'audio' | 'video' | 'text'): JsonObject | null {
  const made = listOf(steps).filter((step) => step['type'] === 'model_output');
  return made.flatMap(({ content }) => listOf(content)).find((each) => each['type'] === type) ?? null;
}

function listOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? (value as readonly unknown[]).filter(isJsonObject) : [];
}
