/**
 * Reasoning as MiniMax exchanges it: with `reasoning_split` it is separate from the text, otherwise it is in the text
 * in `<think>`. MiniMax expects it back unchanged (https://platform.minimax.io/docs/api-reference/text-chat-openai,
 * https://platform.minimax.io/docs/guides/text-m3-function-call). Streams send it in pieces, although an example in
 * that guide reads all of it from each chunk (https://github.com/MiniMax-AI/MiniMax-M2/issues/95).
 */
import { isJsonObject, type JsonObject } from '../../kit/json';

/** A message or delta with its reasoning as `reasoning_content` only. */
export function fromReasoningDetails({ reasoning_details: details, ...message }: JsonObject): JsonObject {
  if (!Array.isArray(details) || typeof message['reasoning_content'] === 'string') return message;
  const texts = details.map((detail) => (isJsonObject(detail) ? detail['text'] : null));
  return { ...message, reasoning_content: texts.filter((text) => typeof text === 'string').join('') };
}

/** The fields that return `reasoning_content`; empty if the reasoning is lost. */
export function toReasoningDetails(reasoning: unknown): JsonObject {
  if (typeof reasoning !== 'string' || reasoning.trim() === '') return {};
  const detail = { type: 'reasoning.text', id: 'reasoning-text-1', format: 'MiniMax-response-v1', index: 0 };
  return { reasoning_details: [{ ...detail, text: reasoning }] };
}
