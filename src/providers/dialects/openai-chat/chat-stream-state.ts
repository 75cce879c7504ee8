import type { StreamProgress } from '../../contract/chat';
import type { UsageVector } from '../../contract/usage';

/** The state of a stream; the caller reads it as `progress`. */
export class ChatStreamState implements StreamProgress {
  /** Fixed by the first chunk that is forwarded. */
  id = '';
  created = 0;
  /** Bytes of text in chunks that the sink has received. */
  outputBytes = 0;
  usage: UsageVector | null = null;
  finishReason: string | null = null;
  skippedEvents = 0;

  /** Usage has been read after the finish reason; earlier usage may be a running count. */
  usageIsFinal = false;
  /** Bytes of text in all chunks, including buffered ones. */
  generatedBytes = 0;
  /** An event with a choice has been read. */
  started = false;
  /** A tool call has begun. */
  callsTools = false;
  /** `[DONE]` has been read. */
  done = false;

  /** Whether the caller has everything it needs. */
  get complete(): boolean {
    return this.done || this.usageIsFinal;
  }
}
