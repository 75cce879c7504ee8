import type { ChatCompletionResult } from '../../contract/chat';
import type { TokenLogprob } from '../../contract/chat-event';
import type { PlannedToolCall, ReplyPlan } from './reply-plan';

/** Fields that a reply and every chunk of a stream share. */
export interface ReplyIdentity {
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  readonly model: string;
}

/** There is one build of the mock. */
export const MOCK_FINGERPRINT = 'fp_mock';

/** A planned reply as one chat completion. */
export function toChatCompletion(
  { id, created, model }: ReplyIdentity,
  plan: ReplyPlan,
  logprobs: readonly TokenLogprob[] | null,
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
      system_fingerprint: MOCK_FINGERPRINT,
    },
    usage: plan.usage,
    outputBytes: plan.toolCalls.reduce(
      (sum, call) => sum + Buffer.byteLength(call.arguments.join('')),
      Buffer.byteLength(content ?? ''),
    ),
  };
}

function toWholeCall({ id, name, arguments: tokens, custom }: PlannedToolCall): object {
  const text = tokens.join('');
  return custom
    ? { id, type: 'custom', custom: { name, input: text } }
    : { id, type: 'function', function: { name, arguments: text } };
}
