import type { ChatCompletionBody, ChatCompletionResult } from '../../contract/chat';
import type { ProviderCall } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import { isJsonObject, type JsonObject } from '../../kit/json-object';
import { mapInBandError } from '../../kit/map-upstream-error';
import { toUsageVector } from '../../kit/usage';
import { isFailedFinish, toFinishReason } from './finish-reason';
import { toCreated, toId } from './identity';
import { normalizeReasoning, textBytes, toText } from './message-text';
import { normalizeToolCalls } from './tool-calls';

/**
 * Converts a whole reply to the gateway's shape and extracts its usage. Top-level fields are an allow-list: vendor
 * fields reveal the upstream and its internals.
 * @throws ProviderError for an error inside a reply with status 200, or for anything but a completion
 */
export function fromOpenAiChatReply(reply: Buffer, call: ProviderCall): ChatCompletionResult {
  const document = parse(reply);
  if (document['error'] != null) throw mapInBandError(document, 'first_token');
  const choice: unknown = Array.isArray(document['choices']) ? document['choices'][0] : undefined;
  if (!isJsonObject(choice) || !isJsonObject(choice['message'])) throw malformed();
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

function parse(reply: Buffer): JsonObject {
  try {
    const document: unknown = JSON.parse(reply.toString('utf8'));
    if (isJsonObject(document)) return document;
  } catch {
    // Invalid JSON is handled like JSON of the wrong type.
  }
  throw malformed();
}

function malformed(): ProviderError {
  return new ProviderError('provider_error', 'The provider sent a response that is not a chat completion.', {
    phase: 'first_token',
    fallback: true,
  });
}
