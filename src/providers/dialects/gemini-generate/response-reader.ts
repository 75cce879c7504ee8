import { randomBytes } from 'node:crypto';
import type { FinishReason, TokenLogprob } from '../../contract/chat-event';
import { ProviderError } from '../../contract/provider-error';
import type { UsageVector } from '../../contract/usage';
import { isJsonObject, type JsonObject, parseJsonObject } from '../../kit/json';
import { contentFiltered, mapInBandError } from '../../kit/upstream-errors';
import { toUsage } from './usage';

/**
 * https://ai.google.dev/api/generate-content#FinishReason; `FinishReason` of `@google/genai` 3.3.0 also has the reasons
 * that only the Gemini API or only Vertex AI returns. A reason in none of these sets counts as a natural end.
 */
const LENGTH: ReadonlySet<unknown> = new Set(['MAX_TOKENS', 'CONTINUATION']);
const WITHHELD: ReadonlySet<unknown> = new Set([
  'SAFETY',
  'RECITATION',
  'LANGUAGE',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'MODEL_ARMOR',
  'ESCALATION',
  'IMAGE_SAFETY',
  'IMAGE_PROHIBITED_CONTENT',
  'IMAGE_RECITATION',
]);
const FAILED: ReadonlySet<unknown> = new Set([
  'IMAGE_OTHER',
  'MALFORMED_FUNCTION_CALL',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'MALFORMED_RESPONSE',
  'MISSING_THOUGHT_SIGNATURE',
  'PUP_LIMITED_DISABLED',
]);
const UNFINISHED = 'FINISH_REASON_UNSPECIFIED';
const ENUM_VALUE = /^[A-Z_]{1,64}$/;

/** A complete function call: the upstream does not split its arguments. */
export interface CalledFunction {
  readonly id: string;
  readonly name: string;
  /** JSON. */
  readonly arguments: string;
  readonly signature: string | null;
}

/** A response or one piece of a streamed response, which have the same shape. */
export interface ReadResponse {
  /** `null`: the response has no candidate. */
  readonly candidate: ReadCandidate | null;
  /** `null`: the response has no usage, or no number of prompt tokens. */
  readonly usage: UsageVector | null;
}

interface ReadCandidate {
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly CalledFunction[];
  readonly logprobs: readonly TokenLogprob[];
  /** `null`: the answer continues. */
  readonly finishReason: FinishReason | null;
  /** The candidate as received. */
  readonly source: JsonObject;
}

/** Reads one answer, whole or piece by piece. */
export class ResponseReader {
  private readonly ids = new Set<string>();

  /** @param parallelCalls whether the client accepts several calls; otherwise all but the first are dropped */
  constructor(private readonly parallelCalls: boolean) {}

  /** @throws ProviderError for an error in place of a response, a blocked prompt, or a failed generation */
  read(response: JsonObject): ReadResponse {
    if (response['error'] != null) throw mapInBandError(response, 'first_token');
    const { candidates, promptFeedback } = response;
    const first: unknown = Array.isArray(candidates) ? candidates[0] : undefined;
    if (!isJsonObject(first) && isJsonObject(promptFeedback) && promptFeedback['blockReason'] != null) {
      throw promptBlocked(promptFeedback['blockReason']);
    }
    return {
      candidate: isJsonObject(first) ? this.readCandidate(first) : null,
      usage: toUsage(response['usageMetadata']),
    };
  }

  private readCandidate(source: JsonObject): ReadCandidate {
    const { content, finishReason: reason, logprobsResult } = source;
    if (FAILED.has(reason)) throw failedGeneration(reason);
    const parts: unknown = isJsonObject(content) ? content['parts'] : undefined;
    let reasoning = '';
    let text = '';
    const calls: CalledFunction[] = [];
    for (const part of Array.isArray(parts) ? (parts as readonly unknown[]) : []) {
      if (!isJsonObject(part)) continue;
      if (isJsonObject(part['functionCall'])) this.addCall(calls, part['functionCall'], part['thoughtSignature']);
      else if (typeof part['text'] !== 'string') continue;
      else if (part['thought'] === true) reasoning += part['text'];
      else text += part['text'];
    }
    const finishReason = reason == null || reason === UNFINISHED ? null : this.toFinishReason(reason);
    const logprobs = logprobsResult === undefined ? [] : toLogprobs(logprobsResult);
    return { reasoning, text, calls, logprobs, finishReason, source };
  }

  private addCall(calls: CalledFunction[], { id, name, args }: JsonObject, signature: unknown): void {
    if (typeof name !== 'string' || name === '') return;
    if (!this.parallelCalls && this.ids.size > 0) return;
    calls.push({
      id: this.uniqueId(id),
      name,
      arguments: JSON.stringify(isJsonObject(args) ? args : {}),
      signature: typeof signature === 'string' && signature !== '' ? signature : null,
    });
  }

  /** Older models send no ids, but clients match results by id. */
  private uniqueId(given: unknown): string {
    const usable = typeof given === 'string' && given !== '' && !this.ids.has(given);
    const id = usable ? given : `call_${randomBytes(12).toString('hex')}`;
    this.ids.add(id);
    return id;
  }

  /** The reason of an answer with calls is `STOP`, and often arrives in a later piece than the calls. */
  private toFinishReason(reason: unknown): FinishReason {
    if (LENGTH.has(reason)) return 'length';
    if (isWithheld(reason)) return 'content_filter';
    return this.ids.size > 0 ? 'tool_calls' : 'stop';
  }
}

/** Whether the answer ended because the content of the request or the answer was blocked. */
export function isWithheld(finishReason: unknown): boolean {
  return WITHHELD.has(finishReason);
}

/** @throws ProviderError for anything but a JSON object */
export function parseResponse(bytes: Buffer): JsonObject {
  const response = parseJsonObject(bytes);
  if (response === null) throw notAResponse();
  return response;
}

export function notAResponse(): ProviderError {
  return new ProviderError('provider_error', 'The provider sent a response that is not a chat completion.', {
    phase: 'first_token',
    fallback: true,
  });
}

/** The id of the answer for the client. */
export function toAnswerId({ responseId }: JsonObject): string {
  const id = typeof responseId === 'string' && responseId !== '' ? responseId : randomBytes(15).toString('base64url');
  return `chatcmpl-${id}`;
}

function toLogprobs(result: unknown): TokenLogprob[] {
  const { chosenCandidates: chosen, topCandidates: top } = isJsonObject(result) ? result : {};
  if (!Array.isArray(chosen)) return [];
  return tokensOf(chosen).map((token, index) => {
    const alternatives: unknown = Array.isArray(top) ? top[index] : undefined;
    const listed: unknown = isJsonObject(alternatives) ? alternatives['candidates'] : undefined;
    return { ...token, top_logprobs: Array.isArray(listed) ? tokensOf(listed) : [] };
  });
}

function tokensOf(candidates: readonly unknown[]): { token: string; logprob: number; bytes: number[] }[] {
  return candidates.flatMap((candidate) => {
    const { token, logProbability } = isJsonObject(candidate) ? candidate : {};
    if (typeof token !== 'string') return [];
    const logprob = typeof logProbability === 'number' ? logProbability : 0;
    return [{ token, logprob, bytes: [...Buffer.from(token)] }];
  });
}

function promptBlocked(reason: unknown): ProviderError {
  const code = toEnumValue(reason);
  return contentFiltered({ upstream: { status: 200, code: code ?? undefined } }, code);
}

/** The model wrote something that is not an answer; the next attempt usually succeeds. */
function failedGeneration(reason: unknown): ProviderError {
  return new ProviderError('provider_error', 'The provider failed to generate a response.', {
    phase: 'first_token',
    fallback: true,
    retrySame: true,
    upstream: { status: 200, code: toEnumValue(reason) ?? undefined },
  });
}

/** A reason as the vendor names it; `null` for text that is not such a name, which is not shown. */
export function toEnumValue(value: unknown): string | null {
  return typeof value === 'string' && ENUM_VALUE.test(value) ? value : null;
}
