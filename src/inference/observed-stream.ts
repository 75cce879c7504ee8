import type { StreamSink } from '../providers/contract/chat';
import type { Delivered, OpenedStream } from './inference.types';

/** How a stream ended, for whoever keeps count. */
export interface StreamObserver {
  completed(delivered: Delivered): void;
  broken(error: unknown): void;
}

/** A stream whose end is noted: a deployment that breaks off in the middle of its answers is not well either. */
export class ObservedStream<Progress extends Delivered> implements OpenedStream<Progress> {
  constructor(
    private readonly stream: OpenedStream<Progress>,
    private readonly observer: StreamObserver,
  ) {}

  get progress(): Progress {
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
