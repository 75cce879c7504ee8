/** An upstream that nobody gets an answer from until a test says so: what is in flight stays there while it looks. */
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
   * Sends all of them at once and lets no answer come before everybody is either in flight or refused, so that whoever was
   * let in counts for all the others, however long they take to ask.
   */
  async race(calls: readonly ChatCall[]): Promise<Exchange[]> {
    let ended = 0;
    const exchanges = Promise.all(calls.map((call) => chatUntilServed(call).finally(() => ended++)));
    await until('a word to everybody', 30_000, () => ended + this.waiting.length === calls.length);
    for (const answer of this.waiting.splice(0)) answer();
    return exchanges;
  }

  stop(): Promise<void> {
    return this.server.stop();
  }
}
