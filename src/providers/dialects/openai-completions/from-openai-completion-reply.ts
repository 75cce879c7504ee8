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
 * A whole reply in our shape, its usage taken out.
 * @throws ProviderError for a reply that is an error in disguise, or no completion at all
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

/** @throws ProviderError for what is not a JSON object */
export function parseCompletion(json: Buffer): JsonObject {
  try {
    const document: unknown = JSON.parse(json.toString('utf8'));
    if (isJsonObject(document)) return document;
  } catch {
    // Not JSON: the same as JSON of the wrong kind.
  }
  throw notACompletion();
}

export function firstChoice({ choices }: JsonObject): JsonObject | null {
  const choice: unknown = Array.isArray(choices) ? choices[0] : null;
  return isJsonObject(choice) ? choice : null;
}

/** With the accents of chat taken out first. */
export function finishOf(reason: string): ReturnType<typeof toCompletionFinish> {
  return toCompletionFinish(toFinishReason(reason, false, true));
}

export function toCompletionId(id: unknown): string {
  return typeof id === 'string' && id !== '' ? id : `cmpl-${randomBytes(15).toString('base64url')}`;
}

function notACompletion(): ProviderError {
  return new ProviderError('provider_error', 'The provider sent an answer that is not a completion.', {
    phase: 'first_token',
    fallback: true,
  });
}
