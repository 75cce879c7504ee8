import type { ChatCompletionBody } from '../../providers/contract/chat';
import { type CompletionBody, type CompletionRequest, toCompletionFinish } from '../../providers/contract/completions';
import { toCompletionId } from './completion-id';
import { toCompletionLogprobs } from './completion-logprobs';

/** The parts of a chat choice that a completion has. */
interface ChatChoice {
  readonly message: { readonly content?: string | null; readonly refusal?: string | null };
  readonly logprobs?: unknown;
  readonly finish_reason: string;
}

/** Converts a chat response to a completion. */
export function fromChatReply(body: ChatCompletionBody, request: CompletionRequest): CompletionBody {
  const { message, logprobs, finish_reason: reason } = body.choices[0] as ChatChoice;
  const text = message.content ?? message.refusal ?? '';
  return {
    id: toCompletionId(body.id),
    object: 'text_completion',
    created: body.created,
    model: body.model,
    choices: [
      {
        text: request.echo === true ? request.prompt + text : text,
        index: 0,
        logprobs: toCompletionLogprobs(logprobs, 0),
        finish_reason: toCompletionFinish(reason),
      },
    ],
    ...(body.system_fingerprint !== null && { system_fingerprint: body.system_fingerprint }),
  };
}
