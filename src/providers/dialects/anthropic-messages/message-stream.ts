import type { ChatStream } from '../../contract/chat';
import { type StreamRequest, UpstreamStream } from '../../kit/upstream-stream';
import { MessageEventTranslator } from './message-events';
import type { JsonObjectText } from './json-object';
import type { AnswerBlock } from './reasoning-state';

/**
 * Opens the stream of one message.
 * @param keep stores the reasoning of the answer; `null` when there is none. Must not reject.
 * @param object as for `fromMessage`
 */
export function openMessageStream(
  request: StreamRequest,
  keep: (blocks: readonly AnswerBlock[]) => Promise<void> | null,
  object: JsonObjectText | null = null,
): Promise<ChatStream> {
  return UpstreamStream.openStream(request, {
    translatorFor: ({ trace }, state) => new MessageEventTranslator(state, keep, object, trace),
    join: (lists) => lists.flat(),
  });
}
