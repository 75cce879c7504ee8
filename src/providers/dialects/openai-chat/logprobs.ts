/**
 * Log probabilities of upstreams that use OpenAI's older format in chats, as Together does
 * (https://docs.together.ai/docs/logprobs): `logprobs` is the number of alternatives, and the reply lists tokens and
 * log probabilities separately. Some of Together's models reply in the current format
 * (https://github.com/UKGovernmentBEIS/inspect_ai/issues/3082).
 */
import type { ChatRequest } from '../../contract/chat';
import type { AlternativeToken, TokenLogprob } from '../../contract/chat-event';
import { isJsonObject, type JsonObject } from '../../kit/json';

/** The number of alternatives to request; `null`: log probabilities are not requested. */
export function toLogprobsCount({ logprobs, top_logprobs: alternatives }: ChatRequest): number | null {
  if (logprobs !== true) return null;
  return typeof alternatives === 'number' ? Math.max(alternatives, 1) : 1;
}

/**
 * The `logprobs` of a choice in the current format.
 * @param text of the message or delta; a bare number is the log probability of its only token
 */
export function fromLogprobLists(logprobs: unknown, text: unknown): unknown {
  if (typeof logprobs === 'number') {
    return typeof text === 'string' && text !== '' ? toContent([toToken(text, logprobs, undefined)]) : null;
  }
  if (!isJsonObject(logprobs) || !Array.isArray(logprobs['tokens'])) return logprobs;
  const { tokens, token_logprobs: values, top_logprobs: alternatives } = logprobs;
  return toContent(tokens.map((token, at) => toToken(token, valueAt(values, at), valueAt(alternatives, at))));
}

function toContent(content: readonly TokenLogprob[]): JsonObject {
  return { content, refusal: null };
}

function valueAt(list: unknown, at: number): unknown {
  return Array.isArray(list) ? (list as readonly unknown[])[at] : undefined;
}

function toToken(token: unknown, logprob: unknown, alternatives: unknown): TokenLogprob {
  const listed = isJsonObject(alternatives)
    ? Object.entries(alternatives).map(([name, value]) => one(name, value))
    : [];
  return { ...one(token, logprob), top_logprobs: listed.toSorted((first, next) => next.logprob - first.logprob) };
}

function one(token: unknown, logprob: unknown): AlternativeToken {
  const text = typeof token === 'string' ? token : '';
  return { token: text, logprob: typeof logprob === 'number' ? logprob : 0, bytes: [...Buffer.from(text)] };
}
