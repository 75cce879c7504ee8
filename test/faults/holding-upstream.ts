/** An upstream that holds every response until the test releases it, to keep requests in flight. */
import { FakeUpstream } from '../conformance/fake-upstream';
import { type ChatCall, chatUntilServed, type Exchange } from './chat-load';
import { until } from './figures';

const ANSWER = JSON.stringify({
  id: 'c',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 5 },
});

export class HoldingUpstream {
  private readonly waiting: (() => void)[] = [];

  private constructor(private readonly server: FakeUpstream) {
    server.answer = (response) =>
      this.waiting.push(() => response.setHeader('content-type', 'application/json').end(ANSWER));
  }

  static async start(): Promise<HoldingUpstream> {
    return new HoldingUpstream(await FakeUpstream.start());
  }

  get baseUrl(): string {
    return `${this.server.origin}/v1`;
  }

  /**
   * Sends all requests at once and holds every response until each request is either in flight or refused, so that
   * accepted requests count against all others, however late those arrive.
   */
  async race(calls: readonly ChatCall[]): Promise<Exchange[]> {
    let ended = 0;
    const exchanges = Promise.all(calls.map((call) => chatUntilServed(call).finally(() => ended++)));
    await until('every request to be held or answered', 30_000, () => ended + this.waiting.length === calls.length);
    for (const answer of this.waiting.splice(0)) answer();
    return exchanges;
  }

  stop(): Promise<void> {
    return this.server.stop();
  }
}
