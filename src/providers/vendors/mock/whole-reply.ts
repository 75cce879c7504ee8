import type { ChatCompletionResult } from '../../contract/chat';
import type { ChosenTokenLogprob } from './logprobs';
import type { PlannedToolCall, ReplyPlan } from './reply-plan';

/** Fields that a reply and every chunk of a stream carry alike. */
export interface ReplyIdentity {
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  readonly model: string;
}

/** A planned reply as one chat completion (decision *chat-shape*). */
export function toWholeReply(
  { id, created, model }: ReplyIdentity,
  plan: ReplyPlan,
  logprobs: readonly ChosenTokenLogprob[] | null,
): ChatCompletionResult {
  const content = plan.content?.join('') ?? null;
  const toolCalls = plan.toolCalls.map(toWholeCall);
  return {
    body: {
      id,
      object: 'chat.completion',
      created,
      model,
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content,
            refusal: null,
            ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
          },
          logprobs: logprobs === null ? null : { content: logprobs, refusal: null },
          finish_reason: plan.finishReason,
        },
      ],
      system_fingerprint: null,
    },
    usage: plan.usage,
    outputBytes: toolCalls.reduce(
      (sum, call) => sum + Buffer.byteLength(call.function.arguments),
      Buffer.byteLength(content ?? ''),
    ),
  };
}

function toWholeCall({ id, name, arguments: tokens }: PlannedToolCall) {
  return { id, type: 'function', function: { name, arguments: tokens.join('') } };
}
