import { randomBytes } from 'node:crypto';
import { systemClock } from '../../../core/time/clock';
import type { ChatCompletionBody, ChatCompletionResult } from '../../contract/chat';
import type { FinishReason } from '../../contract/chat-event';
import type { ProviderCall } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import { isJsonObject, type JsonObject } from '../../kit/json';
import { mapInBandError } from '../../kit/upstream-errors';
import { toUsageVector } from '../../kit/usage';
import { normalizeToolCalls } from './tool-calls';

/**
 * Converts a whole reply to the gateway's shape and extracts its usage. Top-level fields are an allow-list: vendor
 * fields reveal the upstream and its internals.
 * @throws ProviderError for an error inside a reply with status 200, or for anything but a completion
 */
export function fromOpenAiChatReply(reply: Buffer, call: ProviderCall): ChatCompletionResult {
  const document = parseCompletion(reply);
  if (document['error'] != null) throw mapInBandError(document, 'first_token');
  const choice: unknown = Array.isArray(document['choices']) ? document['choices'][0] : undefined;
  if (!isJsonObject(choice) || !isJsonObject(choice['message'])) throw notACompletion();
  if (isFailedFinish(choice['finish_reason'])) throw failedGeneration();

  const { message, calledTools, outputBytes } = toMessage(choice['message']);
  const reason = typeof choice['finish_reason'] === 'string' ? choice['finish_reason'] : 'stop';
  const body: ChatCompletionBody = {
    id: toId(document['id']),
    object: 'chat.completion',
    created: toCreated(document['created']),
    model: call.publicModel,
    choices: [
      {
        index: 0,
        message,
        logprobs: choice['logprobs'] ?? null,
        finish_reason: toFinishReason(reason, calledTools, call.quirks.trustFinishReason === true),
      },
    ],
    system_fingerprint: typeof document['system_fingerprint'] === 'string' ? document['system_fingerprint'] : null,
  };
  if (typeof document['service_tier'] === 'string') body['service_tier'] = document['service_tier'];
  return { body, usage: toUsageVector(usageOf(document), call.quirks), outputBytes };
}

/** `usage`, or where Groq puts it. */
export function usageOf(document: JsonObject): unknown {
  const { usage, x_groq: groq } = document;
  return usage ?? (isJsonObject(groq) ? groq['usage'] : undefined);
}

export function failedGeneration(): ProviderError {
  return new ProviderError('provider_error', 'The provider failed to generate a response.', {
    phase: 'first_token',
    fallback: true,
  });
}

function toMessage(upstream: JsonObject): { message: JsonObject; calledTools: boolean; outputBytes: number } {
  const { tool_calls: toolCalls, role: _role, ...rest } = upstream;
  const message: JsonObject = { role: 'assistant', ...rest, content: toText(upstream['content']) };
  message['refusal'] ??= null;
  normalizeReasoning(message);
  let outputBytes = textBytes(message);
  const calledTools = Array.isArray(toolCalls) && toolCalls.length > 0;
  if (calledTools) {
    const { calls, bytes } = normalizeToolCalls(toolCalls);
    message['tool_calls'] = calls;
    outputBytes += bytes;
  }
  return { message, calledTools, outputBytes };
}

function parseCompletion(reply: Buffer): JsonObject {
  try {
    const document: unknown = JSON.parse(reply.toString('utf8'));
    if (isJsonObject(document)) return document;
  } catch {
    // Invalid JSON is handled like JSON of the wrong type.
  }
  throw notACompletion();
}

function notACompletion(): ProviderError {
  return new ProviderError('provider_error', 'The provider sent a response that is not a chat completion.', {
    phase: 'first_token',
    fallback: true,
  });
}

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

/** Vendor variants of finish reasons (sheet A, rule 6). A reason in neither map counts as `stop`. */
const TRANSLATIONS: ReadonlyMap<string, FinishReason> = new Map([
  ['stop', 'stop'],
  ['length', 'length'],
  ['tool_calls', 'tool_calls'],
  ['content_filter', 'content_filter'],
  ['function_call', 'function_call'],
  ['model_length', 'length'],
  ['max_tokens', 'length'],
]);

const FAILURES: ReadonlySet<string> = new Set(['error', 'abort', 'insufficient_system_resource']);

/** Whether the generation failed, although the upstream ends the response cleanly. */
export function isFailedFinish(reason: unknown): boolean {
  return typeof reason === 'string' && FAILURES.has(reason);
}

/**
 * The standard finish reason.
 * @param calledTools the response contains tool calls, for which several upstreams still report `stop`
 * @param trusted the upstream's `stop` is kept even then
 */
export function toFinishReason(reason: string, calledTools: boolean, trusted: boolean): FinishReason {
  const known = TRANSLATIONS.get(reason) ?? 'stop';
  return known === 'stop' && calledTools && !trusted ? 'tool_calls' : known;
}

/** For upstreams that omit the required id. */
function makeCompletionId(): string {
  return `chatcmpl-${randomBytes(15).toString('base64url')}`;
}

/** The upstream's `created`, else the current time; in seconds. */
export function toCreated(created: unknown): number {
  return typeof created === 'number' && Number.isSafeInteger(created) ? created : Math.floor(systemClock.now() / 1000);
}

export function toId(id: unknown): string {
  return typeof id === 'string' && id !== '' ? id : makeCompletionId();
}
