import { isJsonObject, type JsonObject } from '../../kit/json-object';

/** Text of a message or delta: some upstreams send a list of parts where the format has a string. */
export function toText(content: unknown): string | null {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return null;
  return content.map((part) => (isJsonObject(part) && typeof part['text'] === 'string' ? part['text'] : '')).join('');
}

/** Renames reasoning to `reasoning_content`. */
export function normalizeReasoning(message: JsonObject): void {
  const reasoning = message['reasoning_content'] ?? message['reasoning'];
  delete message['reasoning'];
  if (typeof reasoning === 'string') message['reasoning_content'] = reasoning;
  else delete message['reasoning_content'];
}

/** UTF-8 bytes of the text fields of a message or delta; tool calls are counted where they are normalized. */
export function textBytes(message: JsonObject): number {
  const { content, reasoning_content: reasoning, refusal, function_call: called, audio } = message;
  let bytes = bytesOf(content) + bytesOf(reasoning) + bytesOf(refusal);
  if (isJsonObject(called)) bytes += bytesOf(called['arguments']);
  if (isJsonObject(audio)) bytes += bytesOf(audio['transcript']) + bytesOf(audio['data']);
  return bytes;
}

function bytesOf(text: unknown): number {
  return typeof text === 'string' ? Buffer.byteLength(text) : 0;
}
