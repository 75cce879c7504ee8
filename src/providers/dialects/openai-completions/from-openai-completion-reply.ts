import { randomBytes } from 'node:crypto';
import { type CompletionResult, toCompletionFinish } from '../../contract/completions';
import type { ProviderCall } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import { isJsonObject, type JsonObject } from '../../kit/json-object';
import { mapInBandError } from '../../kit/map-upstream-error';
import { toUsageVector } from '../../kit/usage';
import { isFailedFinish, toFinishReason } from '../openai-chat/finish-reason';
import { failedGeneration, usageOf } from '../openai-chat/from-openai-chat-reply';
import { toCreated } from '../openai-chat/identity';

/**
 * Converts a whole reply to the gateway's shape and extracts its usage.
 * @throws ProviderError for an error inside a reply with status 200, or for anything but a completion
 */
export function fromOpenAiCompletionReply(reply: Buffer, call: ProviderCall): CompletionResult {
  const document = parseCompletion(reply);
  if (document['error'] != null) throw mapInBandError(document, 'first_token');
  const choice = firstChoice(document);
  if (choice === null || typeof choice['text'] !== 'string') throw notACompletion();
  if (isFailedFinish(choice['finish_reason'])) throw failedGeneration();
  const { text } = choice;
  const { system_fingerprint: fingerprint } = document;
  return {
    body: {
      id: toCompletionId(document['id']),
      object: 'text_completion',
      created: toCreated(document['created']),
      model: call.publicModel,
      choices: [
        {
          text,
          index: 0,
          logprobs: choice['logprobs'] ?? null,
          finish_reason: finishOf(String(choice['finish_reason'] ?? 'stop')),
        },
      ],
      ...(typeof fingerprint === 'string' && { system_fingerprint: fingerprint }),
    },
    usage: toUsageVector(usageOf(document), call.quirks),
    outputBytes: Buffer.byteLength(text),
  };
}

/** @throws ProviderError for anything but a JSON object */
export function parseCompletion(json: Buffer): JsonObject {
  try {
    const document: unknown = JSON.parse(json.toString('utf8'));
    if (isJsonObject(document)) return document;
  } catch {
    // Invalid JSON is handled like JSON of the wrong type.
  }
  throw notACompletion();
}

export function firstChoice({ choices }: JsonObject): JsonObject | null {
  const choice: unknown = Array.isArray(choices) ? choices[0] : null;
  return isJsonObject(choice) ? choice : null;
}

/** Normalizes vendor variants of chat first. */
export function finishOf(reason: string): ReturnType<typeof toCompletionFinish> {
  return toCompletionFinish(toFinishReason(reason, false, true));
}

export function toCompletionId(id: unknown): string {
  return typeof id === 'string' && id !== '' ? id : `cmpl-${randomBytes(15).toString('base64url')}`;
}

function notACompletion(): ProviderError {
  return new ProviderError('provider_error', 'The provider sent a response that is not a completion.', {
    phase: 'first_token',
    fallback: true,
  });
}
