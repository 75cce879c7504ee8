import { type Clock, systemClock } from '../../core/time/clock';
import type { ChatStream, StreamProgress, StreamSink } from '../contract/chat';
import type { ChatEvent, FinishReason } from '../contract/chat-event';
import type { ProviderCall } from '../contract/provider-call';
import { ProviderError } from '../contract/provider-error';
import type { UsageVector } from '../contract/usage';
import { CallDeadline } from './call-deadline';
import { cancellation, deadlineFailure, toStreamFailure } from './upstream-errors';

/** Events that arrive together. */
type Events = readonly ChatEvent[];

/**
 * A chat stream from events that a provider yields, for example from a vendor's client library. It tracks progress,
 * enforces the time limits, applies back-pressure, and reports an end without `finish` as a failure.
 *
 * The provider yields `start` when the model has begun to answer. An error before that still has an HTTP status and
 * allows failover.
 * @throws ProviderError for a failure before `start`
 */
export async function openEventStream(
  events: AsyncIterable<Events>,
  call: ProviderCall,
  clock: Clock = systemClock,
): Promise<ChatStream> {
  const iterator = events[Symbol.asyncIterator]();
  const { value: first } = (await iterator.next()) as IteratorResult<Events, undefined>;
  if (first?.[0]?.type !== 'start') {
    throw new ProviderError('provider_disconnect', 'The provider ended the stream before the response began.', {
      phase: 'first_token',
      fallback: true,
    });
  }
  return new EventStream(first, iterator, call, clock);
}

class EventProgress implements StreamProgress {
  id = '';
  created = 0;
  outputBytes = 0;
  usage: UsageVector | null = null;
  finishReason: FinishReason | null = null;

  /** @returns the events to pass on */
  add(events: Events): Events {
    // After the finish reason only usage matters.
    const kept = this.finishReason === null ? events : events.filter(({ type }) => type === 'usage');
    for (const event of kept) this.addOne(event);
    return kept;
  }

  private addOne(event: ChatEvent): void {
    switch (event.type) {
      case 'start':
        this.id = event.id;
        this.created = event.created;
        break;
      case 'usage':
        this.usage = event.usage;
        break;
      case 'finish':
        this.finishReason = event.reason;
        break;
      case 'text':
      case 'refusal':
      case 'reasoning':
      case 'tool_input':
        this.outputBytes += Buffer.byteLength(event.text);
        break;
    }
  }
}

class EventStream implements ChatStream {
  readonly progress = new EventProgress();
  private stopped = false;

  constructor(
    private readonly first: Events,
    private readonly rest: AsyncIterator<Events>,
    private readonly call: ProviderCall,
    private readonly clock: Clock,
  ) {}

  pipe(sink: StreamSink<Events>): Promise<void> {
    const { signal, deadlines } = this.call;
    return new Promise((resolve, reject) => {
      const stop = (settle: () => void): void => {
        if (this.stopped) return;
        this.stopped = true;
        deadline.clear();
        signal.removeEventListener('abort', onAbort);
        // Not awaited: a generator that is waiting returns only when its wait ends.
        this.rest.return?.().catch(() => undefined);
        settle();
      };
      const onAbort = (): void => stop(() => reject(cancellation('stream', signal.reason)));
      const deadline = new CallDeadline(this.clock, deadlines.totalMs, () =>
        stop(() => reject(deadlineFailure('stream'))),
      );
      deadline.set(Infinity);
      signal.addEventListener('abort', onAbort);
      if (signal.aborted) onAbort();
      this.copy(sink, deadline).then(
        () => stop(resolve),
        (error: unknown) => stop(() => reject(error instanceof ProviderError ? toStreamFailure(error) : error)),
      );
    });
  }

  private async copy(sink: StreamSink<Events>, deadline: CallDeadline): Promise<void> {
    let events: Events | undefined = this.first;
    while (events !== undefined && !this.stopped) {
      const kept = this.progress.add(events);
      if (kept.length > 0 && !sink.write(kept)) {
        // Back-pressure is not silence of the provider.
        deadline.set(Infinity);
        await sink.drained();
      }
      if (this.stopped) return;
      deadline.set(this.call.deadlines.idleMs);
      const next: IteratorResult<Events, unknown> = await this.rest.next();
      events = next.done === true ? undefined : next.value;
    }
    if (this.progress.finishReason !== null || this.stopped) return;
    throw new ProviderError('provider_disconnect', 'The provider ended the stream before the response was complete.', {
      phase: 'stream',
      fallback: false,
    });
  }
}
