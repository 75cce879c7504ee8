import type { ChatEvent } from '../../contract/chat-event';
import { type StreamOutput, type StreamRequest, UpstreamStream } from '../../kit/upstream-stream';
import { ChatChunkTranslator } from './chat-chunk-translator';
import { ChatEventTranslator } from './chat-event-translator';

const CHUNKS: StreamOutput<Buffer> = {
  translatorFor: (call, state) => new ChatChunkTranslator(call, state),
  join: (frames) => Buffer.concat(frames),
};

const EVENTS: StreamOutput<readonly ChatEvent[]> = {
  translatorFor: (call, state) => new ChatEventTranslator(call, state),
  join: (lists) => lists.flat(),
};

/** A chat stream as chunks for the client, most of whose bytes are the upstream's. */
export function openChatChunks(request: StreamRequest): Promise<UpstreamStream<Buffer>> {
  return UpstreamStream.open(request, CHUNKS);
}

/** The same as typed events. */
export function openChatEvents(request: StreamRequest): Promise<UpstreamStream<readonly ChatEvent[]>> {
  return UpstreamStream.open(request, EVENTS);
}
