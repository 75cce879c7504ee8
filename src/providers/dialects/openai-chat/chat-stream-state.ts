import type { StreamProgress } from '../../contract/chat';
import type { UsageVector } from '../../contract/usage';

/** What is known of a stream so far; the readable half is the caller's `progress`. */
export class ChatStreamState implements StreamProgress {
  /** Fixed by the first chunk that is forwarded. */
  id = '';
  created = 0;
  /** Bytes of text in chunks that the sink has been given. */
  outputBytes = 0;
  usage: UsageVector | null = null;
  finishReason: string | null = null;

  /** Usage has been read after the finish reason: what came before it may have been a running count. */
  usageIsFinal = false;
  /** Bytes of text in all chunks, those still held back included. */
  generatedBytes = 0;
  /** An event with a choice has been read. */
  started = false;
  /** `[DONE]` has been read. */
  done = false;

  /** Whether nothing more is to come that the caller needs. */
  get complete(): boolean {
    return this.done || this.usageIsFinal;
  }
}
