import type { StreamSink } from '../providers/contract/chat';
import type { Delivered, OpenedStream } from './inference.types';

/** Receives the outcome of a stream. */
export interface StreamObserver {
  completed(delivered: Delivered): void;
  broken(error: unknown): void;
}

/** A stream that reports its outcome: interrupted streams count against the deployment's health. */
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
