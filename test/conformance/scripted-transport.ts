import type { Dispatcher } from 'undici';
import { systemClock } from '../../src/core/time/clock';
import type { ProviderCall } from '../../src/providers/contract/provider-call';
import type { ReplyReceiver } from '../../src/providers/kit/reply-receiver';
import { UpstreamExchange } from '../../src/providers/kit/upstream-http';

/** Replaces the network: a test drives the upstream by hand, and undici's calls are made as undici makes them. */
export class ScriptedTransport {
  paused = false;
  aborted = false;
  private exchange: UpstreamExchange | null = null;
  private readonly controller: Dispatcher.DispatchController = {
    aborted: false,
    paused: false,
    reason: null,
    abort: (reason) => {
      if (this.aborted) return;
      this.aborted = true;
      this.exchange?.onResponseError(this.controller, reason);
    },
    pause: () => (this.paused = true),
    resume: () => (this.paused = false),
  };

  endpoint(path: string): string {
    return path;
  }

  postForStream(_endpoint: string, _body: unknown, call: ProviderCall, receiver: ReplyReceiver): UpstreamExchange {
    this.exchange = new UpstreamExchange(call, 'event-stream', receiver, systemClock);
    return this.exchange;
  }

  postForAudio(_endpoint: string, _body: unknown, call: ProviderCall, receiver: ReplyReceiver): UpstreamExchange {
    this.exchange = new UpstreamExchange(call, 'audio', receiver, systemClock);
    return this.exchange;
  }

  /** Connection made, request sent, reply begun. */
  begin(headers: Record<string, string> = { 'content-type': 'text/event-stream' }, status = 200): this {
    this.exchange?.onRequestStart(this.controller);
    return this.deliver(() => this.exchange?.onResponseStart(this.controller, status, headers));
  }

  data(bytes: string | Buffer): this {
    return this.deliver(() => this.exchange?.onResponseData(this.controller, Buffer.from(bytes)));
  }

  end(): this {
    if (!this.aborted) this.exchange?.onResponseEnd();
    return this;
  }

  /** As undici does: nothing after an abort, and an exception becomes one. */
  private deliver(step: () => void): this {
    try {
      if (!this.aborted) step();
    } catch (error) {
      this.controller.abort(error as Error);
    }
    return this;
  }

  breakConnection(): this {
    this.exchange?.onResponseError(this.controller, Object.assign(new Error('reset'), { code: 'ECONNRESET' }));
    return this;
  }
}
