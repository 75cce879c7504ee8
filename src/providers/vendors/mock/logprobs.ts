import type { TokenLogprob } from '../../contract/chat-event';
import { seededNumber } from './random';

/** The log probabilities that the client requests. */
export interface LogprobsOptions {
  /** Number of likeliest tokens, including the chosen one; may be 0. */
  readonly topCount: number;
  readonly seed: number;
}

const OTHER_TOKENS = ' the| a| and| of| to| in| is| it| on| as| for| by| at| or| an| be| we| so| if| no| but'
  .split('|')
  .map((token) => ({ token, bytes: bytesOf(token) }));

/**
 * Plausible and deterministic: the chosen token has most of the probability, others share the rest.
 * @param firstIndex index of the first token in the whole text, so that a piece gets the same values as the whole
 */
export function logprobsOf(
  tokens: readonly string[],
  firstIndex: number,
  { topCount, seed }: LogprobsOptions,
): TokenLogprob[] {
  return tokens.map((token, index) => {
    const share = 0.6 + 0.39 * seededNumber(seed + firstIndex + index);
    const chosen = { token, logprob: Math.log(share), bytes: bytesOf(token) };
    const others = OTHER_TOKENS.filter((other) => other.token !== token).slice(0, Math.max(0, topCount - 1));
    const alternatives = others.map((other, rank) => ({
      token: other.token,
      logprob: Math.log((1 - share) / 2 ** (rank + 1)),
      bytes: other.bytes,
    }));
    return { ...chosen, top_logprobs: topCount > 0 ? [chosen, ...alternatives] : [] };
  });
}

function bytesOf(token: string): readonly number[] {
  return Array.from(Buffer.from(token));
}
