import type { AnswerRecording } from '../idempotency/answer-recording';
import type { StreamSink } from '../providers/contract/chat';
import type { ClientPresence } from './client-presence';

/** Passes a stream on and keeps a copy, for the client and for its retry. Pings are neither's. */
export class RecordingSink implements StreamSink {
  constructor(
    private readonly receiver: StreamSink,
    private readonly recording: AnswerRecording,
    private readonly client: ClientPresence,
  ) {}

  write(frames: string | Buffer): boolean {
    this.recording.add(frames);
    if (this.recording.overflowed) this.client.expectNoRetry();
    return this.receiver.write(frames);
  }

  drained(): Promise<void> {
    return this.receiver.drained();
  }
}
