import type { ChatStream, StreamProgress, StreamSink } from '../providers/contract/chat';

/** How a stream ended, for whoever keeps count. */
export interface StreamObserver {
  completed(progress: StreamProgress): void;
  broken(error: unknown): void;
}

/** A stream whose end is noted: a deployment that breaks off in the middle of its answers is not well either. */
export class ObservedStream implements ChatStream {
  constructor(
    private readonly stream: ChatStream,
    private readonly observer: StreamObserver,
  ) {}

  get progress(): StreamProgress {
    return this.stream.progress;
  }

  async pipe(sink: StreamSink): Promise<void> {
    try {
      await this.stream.pipe(sink);
    } catch (error) {
      this.observer.broken(error);
      throw error;
    }
    this.observer.completed(this.stream.progress);
  }
}
