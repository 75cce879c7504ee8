/** Log probabilities in the completions format: parallel lists. */
export interface CompletionLogprobs {
  readonly tokens: string[];
  readonly token_logprobs: number[];
  /** `null` when no alternatives were requested. */
  readonly top_logprobs: Record<string, number>[] | null;
  /** Start of each token in the text of the complete response, in UTF-16 code units. */
  readonly text_offset: number[];
}

interface TokenLogprob {
  readonly token: string;
  readonly logprob: number;
}

interface ChosenToken extends TokenLogprob {
  readonly top_logprobs?: readonly TokenLogprob[];
}

/**
 * Converts the chat format, with one object per token.
 * @param startOffset start of their text
 */
export function toCompletionLogprobs(logprobs: unknown, startOffset: number): CompletionLogprobs | null {
  const { content } = (logprobs ?? {}) as { readonly content?: readonly ChosenToken[] | null };
  if (!Array.isArray(content) || content.length === 0) return null;
  const tokens = content as readonly ChosenToken[];
  let offset = startOffset;
  return {
    tokens: tokens.map(({ token }) => token),
    token_logprobs: tokens.map(({ logprob }) => logprob),
    top_logprobs: tokens.some(({ top_logprobs: top = [] }) => top.length > 0) ? tokens.map(alternatives) : null,
    text_offset: tokens.map(({ token }) => {
      const start = offset;
      offset += token.length;
      return start;
    }),
  };
}

function alternatives({ top_logprobs: top = [] }: ChosenToken): Record<string, number> {
  return Object.fromEntries(top.map(({ token, logprob }) => [token, logprob]));
}
