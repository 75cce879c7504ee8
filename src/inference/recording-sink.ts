import type { AnswerRecording } from '../auth/idempotency/answer-recording';
import type { StreamSink } from '../providers/contract/chat';
import type { ClientPresence } from './client-presence';

/** Forwards a stream and records it for replays. Pings are not recorded. */
export class RecordingSink implements StreamSink {
  constructor(
    private readonly receiver: StreamSink,
    private readonly recording: AnswerRecording,
    private readonly client: ClientPresence,
  ) {}

  write(frames: string | Buffer): boolean {
    this.recording.add(frames);
    if (this.recording.overflowed) this.client.disableRetryGrace();
    return this.receiver.write(frames);
  }

  drained(): Promise<void> {
    return this.receiver.drained();
  }
}
