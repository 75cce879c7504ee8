/** The mixed load of a soak: clients of every kind, each at its own pace, and what the gateways promised them. */
import { randomUUID } from 'node:crypto';
import { chat, chatBody, type Exchange, summarize } from './chat-load';
import { type KeyedCall, sendUntilAnswered } from './keyed-calls';
import type { Customer } from './operator';

export interface SoakSettings {
  /** URLs of the gateways by name. */
  readonly gateways: Readonly<Record<string, string>>;
  readonly customer: Customer;
  /** Sends every request twice with one `Idempotency-Key`. */
  readonly keyedCustomer: Customer;
  /** Of a user who may read the customer's pages. */
  readonly cookie: string;
  readonly perSecond: number;
}

/** Parts of the load by kind. */
const SHARES = { plain: 0.5, stream: 0.2, abort: 0.1, keyed: 0.1, read: 0.1 };
const LONGEST_READ_MS = 400;
/** A claim of a killed process is free again when its lease has ended. */
const KEYED_WITHIN_MS = 180_000;
const PAGES = [
  '/usage/series?interval=hour',
  '/usage/requests',
  '/billing/ledger',
  '/billing/balance',
  '/keys',
  '/jobs',
];

export class SoakLoad {
  /** How requests ended, by gateway and kind. */
  readonly endings: Record<string, Record<string, number>> = {};
  /** The cost of each complete response as its client received it, by request id. */
  readonly costs = new Map<string, number>();
  keyed = 0;
  private readonly open = new Set<Promise<void>>();
  private readonly timers: NodeJS.Timeout[];
  private readonly failures: unknown[] = [];
  private sent = 0;

  constructor(private readonly settings: SoakSettings) {
    const kinds: Record<keyof typeof SHARES, (name: string, url: string) => Promise<void>> = {
      plain: (name, url) => this.chat(name, url, chatBody('delay=2ms')),
      stream: (name, url) => this.chat(name, url, chatBody('chunks=40 delay=20ms', { stream: true })),
      abort: (name, url) => this.abort(name, url),
      keyed: () => this.sendTwice(),
      read: (name, url) => this.read(name, url),
    };
    this.timers = Object.entries(SHARES).map(([kind, share]) =>
      setInterval(
        () => {
          const [name, url] = this.next();
          this.track(kinds[kind as keyof typeof SHARES](name, url));
        },
        1_000 / (share * settings.perSecond),
      ),
    );
  }

  /** Completes what was sent. @throws the first broken promise of a gateway */
  async stop(): Promise<void> {
    this.timers.forEach((timer) => clearInterval(timer));
    await Promise.all(this.open);
    if (this.failures.length > 0) throw this.failures[0];
  }

  private track(work: Promise<void>): void {
    const one: Promise<void> = work
      .catch((error: unknown) => void this.failures.push(error))
      .finally(() => this.open.delete(one));
    this.open.add(one);
  }

  /** The next gateway in rotation. */
  private next(): readonly [name: string, url: string] {
    const gateways = Object.entries(this.settings.gateways);
    return gateways[this.sent++ % gateways.length] as [string, string];
  }

  private count(name: string, ending: string): void {
    const endings = (this.endings[name] ??= {});
    endings[ending] = (endings[ending] ?? 0) + 1;
  }

  private async chat(name: string, url: string, body: object): Promise<void> {
    const exchange = await chat({ url, key: this.settings.customer.key, body });
    this.count(name, Object.keys(summarize([exchange]))[0] ?? '');
    if (exchange.outcome === 'complete') this.keepPromise(exchange);
  }

  private keepPromise({ requestId, costMicro }: Exchange): void {
    if (requestId === null || costMicro === null) throw new Error('a complete response names no id or no cost');
    this.costs.set(requestId, costMicro);
  }

  /** Disconnects at a random moment of a stream. */
  private async abort(name: string, url: string): Promise<void> {
    try {
      const response = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${this.settings.customer.key}`, 'content-type': 'application/json' },
        body: JSON.stringify(chatBody('chunks=40 delay=20ms', { stream: true })),
        signal: AbortSignal.timeout(Math.random() * LONGEST_READ_MS),
      });
      await response.text();
    } catch {
      // Expected, of a live gateway as of a killed one.
    }
    this.count(name, 'aborted');
  }

  /** Two requests with one key, perhaps to different gateways: the second one gets the first one's response. */
  private async sendTwice(): Promise<void> {
    this.keyed++;
    const call: Omit<KeyedCall, 'url'> = {
      key: this.settings.keyedCustomer.key,
      idempotencyKey: randomUUID(),
      body: chatBody('delay=5ms'),
    };
    const first = await sendUntilAnswered({ ...call, url: this.next()[1] }, KEYED_WITHIN_MS);
    const second = await sendUntilAnswered({ ...call, url: this.next()[1] }, KEYED_WITHIN_MS);
    if (!second.replayed || second.text !== first.text) {
      throw new Error(`a repeated request got another response: ${first.text} ${second.text}`);
    }
  }

  private async read(name: string, url: string): Promise<void> {
    const { cookie, customer } = this.settings;
    const page = PAGES[this.sent % PAGES.length] ?? '';
    const status = await fetch(`${url}/dashboard/api/organizations/${customer.organizationId}${page}`, {
      headers: { cookie },
      signal: AbortSignal.timeout(60_000),
    }).then(
      async (response) => {
        await response.text();
        return response.status;
      },
      () => 0,
    );
    this.count(name, `read ${status}`);
  }
}
