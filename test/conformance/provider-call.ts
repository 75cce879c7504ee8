import type { ChatRequest, StreamSink } from '../../src/providers/contract/chat';
import type { ProviderCall } from '../../src/providers/contract/provider-call';
import { ProviderError } from '../../src/providers/contract/provider-error';

/** A call with generous limits; tests override what they are about. */
export function providerCall(overrides: Partial<ProviderCall> = {}): ProviderCall {
  return {
    requestId: 'req_test',
    attempt: 1,
    publicModel: 'vendor/public-model',
    upstreamModel: 'upstream-model',
    features: {},
    quirks: {},
    deadlines: { connectMs: 5_000, firstTokenMs: 5_000, idleMs: 5_000, totalMs: 20_000 },
    signal: new AbortController().signal,
    ...overrides,
  };
}

export function chatRequest(overrides: Partial<ChatRequest> = {}): ChatRequest {
  return { model: 'vendor/public-model', messages: [{ role: 'user', content: 'Hello' }], ...overrides };
}

/** Collects what a stream writes. */
export class CollectingSink implements StreamSink {
  readonly writes: string[] = [];
  private readonly bytes: Buffer[] = [];

  write(frames: string | Buffer): boolean {
    const buffer = typeof frames === 'string' ? Buffer.from(frames) : frames;
    this.bytes.push(buffer);
    this.writes.push(buffer.toString('utf8'));
    return true;
  }

  drained(): Promise<void> {
    return Promise.resolve();
  }

  get output(): Buffer {
    return Buffer.concat(this.bytes);
  }

  /** The JSON of every event written so far. */
  get chunks(): Record<string, unknown>[] {
    const events = this.output
      .toString('utf8')
      .split('\n\n')
      .filter((event) => event !== '');
    return events.map((event) => JSON.parse(event.replace(/^data: /, '')) as Record<string, unknown>);
  }

  /** The text of all chunks. */
  get text(): string {
    return this.chunks.map((chunk) => deltaOf(chunk)['content'] ?? '').join('');
  }
}

export function choiceOf(chunk: Record<string, unknown> | undefined): Record<string, unknown> {
  const [choice] = (chunk?.['choices'] ?? []) as Record<string, unknown>[];
  return choice ?? {};
}

export function deltaOf(chunk: Record<string, unknown> | undefined): Record<string, unknown> {
  return (choiceOf(chunk)['delta'] ?? {}) as Record<string, unknown>;
}

/** The error that a promise is expected to end with; fails the test when it is anything else. */
export async function providerErrorOf(promise: Promise<unknown>): Promise<ProviderError> {
  const error = await promise.then(
    () => new Error('expected a ProviderError, got a value'),
    (reason: unknown) => reason,
  );
  if (error instanceof ProviderError) return error;
  throw error;
}
