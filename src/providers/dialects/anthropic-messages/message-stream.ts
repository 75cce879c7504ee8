import type { ChatStream } from '../../contract/chat';
import { type StreamRequest, UpstreamStream } from '../../kit/upstream-stream';
import { MessageEventTranslator } from './message-events';
import type { AnswerBlock } from './reasoning-state';

/**
 * Opens the stream of one message.
 * @param keep stores the reasoning of the answer; `null` when there is none. Must not reject.
 */
export function openMessageStream(
  request: StreamRequest,
  keep: (blocks: readonly AnswerBlock[]) => Promise<void> | null,
): Promise<ChatStream> {
  return UpstreamStream.open(request, {
    translatorFor: (_call, state) => new MessageEventTranslator(state, keep),
    join: (lists) => lists.flat(),
  });
}
