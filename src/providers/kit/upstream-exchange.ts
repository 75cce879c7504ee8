import type { Dispatcher } from 'undici';
import type { Clock } from '../../core/time/clock';
import type { ProviderCall } from '../contract/provider-call';
import { ProviderError, type ProviderPhase } from '../contract/provider-error';
import { CallDeadline } from './call-deadline';
import { mapUpstreamError } from './map-upstream-error';
import type { UpstreamHeaders } from './upstream-headers';
import { cancellation, deadlineFailure, transportFailure } from './transport-error';

/** Enough for all known error documents; the rest is not read. */
const MAX_ERROR_BODY_BYTES = 64 * 1024;
const AUDIO = /^(?:audio\/|(?:application\/ogg|(?:application|binary)\/octet-stream)\s*(?:;|$))/i;

/** The type of reply that the caller expects. A JSON document instead of a stream or audio is a refusal. */
export type ExpectedReply = 'json' | 'event-stream' | 'audio';

/**
 * Receives the body of a successful reply. An exception from `onData` ends the exchange and is passed to `onFailure`.
 * Exactly one of `onEnd` and `onFailure` is called, unless the receiver closes the exchange itself.
 */
export interface ReplyReceiver {
  onData(chunk: Buffer): void;
  onEnd(): void;
  onFailure(error: ProviderError): void;
}

/**
 * One request and its reply, as the handler of undici's `dispatch`: no stream objects and no promises per chunk. It
 * tracks the phase of the call, enforces its time limits, and maps every failure to a `ProviderError`.
 */
export class UpstreamExchange implements Dispatcher.DispatchHandler {
  private phase: ProviderPhase = 'connect';
  private controller: Dispatcher.DispatchController | null = null;
  private refusal: { status: number; headers: UpstreamHeaders; chunks: Buffer[]; bytes: number } | null = null;
  private readonly deadline: CallDeadline;
  private closed = false;

  constructor(
    private readonly call: ProviderCall,
    private readonly expected: ExpectedReply,
    private readonly receiver: ReplyReceiver,
    private readonly clock: Clock,
  ) {
    this.deadline = new CallDeadline(clock, call.deadlines.totalMs, () => this.fail(deadlineFailure(this.phase)));
    this.deadline.set(call.deadlines.connectMs);
    call.signal.addEventListener('abort', this.onAbort);
    if (call.signal.aborted) this.onAbort();
  }

  /** The first meaningful event has been read: from now on the idle limit applies instead of the first-token limit. */
  enterStream(): void {
    this.phase = 'stream';
    this.touch();
  }

  /** Activity of a streaming upstream. */
  touch(): void {
    if (this.phase === 'stream' && !this.closed) this.deadline.set(this.call.deadlines.idleMs);
  }

  /** Stops reading. The silence is not the upstream's fault, so only the total limit applies. */
  pause(): void {
    if (this.closed) return;
    this.controller?.pause();
    this.deadline.set(Infinity);
  }

  resume(): void {
    if (this.closed) return;
    this.touch();
    this.controller?.resume();
  }

  /** The receiver is done; the upstream gets `limitMs` to end the reply, so that the connection can be reused. */
  expectEndWithin(limitMs: number): void {
    if (!this.closed) this.deadline.set(limitMs);
  }

  /** Ends the exchange, closing the upstream socket if the reply is not complete. The receiver gets no further calls. */
  close(): void {
    if (this.closed) return;
    this.finish();
    this.controller?.abort(new Error('The gateway no longer needs the reply.'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.closed) {
      controller.abort(new Error('The call ended before it was sent.'));
      return;
    }
    this.controller = controller;
    this.phase = 'headers';
    this.deadline.set(this.call.deadlines.firstTokenMs);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: UpstreamHeaders): void {
    if (this.closed || status < 200) return;
    this.phase = 'first_token';
    if (status >= 300 || (this.expected !== 'json' && isJson(headers['content-type']))) {
      this.refusal = { status, headers, chunks: [], bytes: 0 };
      return;
    }
    if (isHtml(headers['content-type'])) {
      // A page of a proxy or a portal, regardless of the status.
      throw this.unusable('The provider sent a web page.', status);
    }
    if (this.expected === 'audio' && !mayBeAudio(headers['content-type'])) {
      throw this.unusable('The provider sent something other than audio.', status);
    }
    const encoding = headers['content-encoding'];
    if (encoding !== undefined && encoding !== 'identity') {
      // Never requested, and a few bytes can unpack to gigabytes.
      throw this.unusable('The provider sent a compressed response.', status);
    }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.closed) return;
    if (this.refusal === null) {
      this.receiver.onData(chunk);
      return;
    }
    this.refusal.chunks.push(chunk);
    this.refusal.bytes += chunk.length;
    if (this.refusal.bytes >= MAX_ERROR_BODY_BYTES) throw this.refused(this.refusal);
  }

  onResponseEnd(): void {
    if (this.closed) return;
    if (this.refusal !== null) {
      this.fail(this.refused(this.refusal));
      return;
    }
    this.finish();
    this.receiver.onEnd();
  }

  /** Also receives the errors that the methods above throw. */
  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.fail(error instanceof ProviderError ? error : transportFailure(this.phase, error));
  }

  private readonly onAbort = (): void => this.fail(cancellation(this.phase, this.call.signal.reason));

  private fail(error: ProviderError): void {
    if (this.closed) return;
    this.finish();
    this.controller?.abort(error);
    this.receiver.onFailure(error);
  }

  private finish(): void {
    this.closed = true;
    this.deadline.clear();
    this.call.signal.removeEventListener('abort', this.onAbort);
  }

  private unusable(message: string, status: number): ProviderError {
    return new ProviderError('provider_error', message, { phase: this.phase, fallback: true, upstream: { status } });
  }

  private refused({ status, headers, chunks }: NonNullable<typeof this.refusal>): ProviderError {
    return mapUpstreamError({ status, headers, body: Buffer.concat(chunks), phase: this.phase, now: this.clock.now() });
  }
}

type ContentType = string | string[] | undefined;

function isJson(contentType: ContentType): boolean {
  return typeof contentType === 'string' && contentType.toLowerCase().startsWith('application/json');
}

function isHtml(contentType: ContentType): boolean {
  return typeof contentType === 'string' && contentType.toLowerCase().startsWith('text/html');
}

/** Some hosts send `application/octet-stream`, and some no content type at all. */
function mayBeAudio(contentType: ContentType): boolean {
  return contentType === undefined || (typeof contentType === 'string' && AUDIO.test(contentType));
}
