import { setImmediate as endOfTurn } from 'node:timers/promises';
import { LimitCall, type HeldSlots, type JudgedRequest, type Release } from './limit-call';
import type { LimitConnection } from './limit-connection';
import { BUCKETS_PER_WINDOW } from './limit-script';

/** How Redis judged one request. */
export interface Verdict {
  /** 0: let in; n: refused by the n-th check of its plan; -1: a key in Redis cannot be read. */
  readonly refusedBy: number;
  /** Milliseconds after which the checks that refused it will let it in. */
  readonly waitMs: number;
  /** Redis' clock, milliseconds since the epoch. */
  readonly nowMs: number;
  /** For check n, from 0: what is left at `2n + 2`, milliseconds until all of it is at `2n + 3`. */
  readonly row: readonly number[];
}

interface WaitingRequest extends JudgedRequest {
  resolve(verdict: Verdict): void;
  reject(error: unknown): void;
}

/** Requests and releases in one call: it must not keep Redis busy for long. */
const MAX_REQUESTS = 256;
const MAX_RELEASES = 512;
/** While Redis is away, releases older than these heal by themselves when their leases end. */
const MAX_WAITING_RELEASES = 50_000;
const RETRY_RELEASES_MS = 250;

/**
 * Gathers what the requests of one turn of the event loop ask of Redis, and of all turns while a call is under way, into
 * one call. A call that fails also refuses those that wait for the next one: they have waited, and Redis is not there.
 */
export class LimitQueue {
  private waiting: WaitingRequest[] = [];
  private releases: Release[] = [];
  private sending: Promise<void> | null = null;
  private retryTimer: NodeJS.Timeout | undefined;

  constructor(
    private readonly connection: LimitConnection,
    private readonly leaseMs: number,
  ) {}

  /** @throws Error when Redis cannot be asked. */
  judge(request: JudgedRequest): Promise<Verdict> {
    return new Promise((resolve, reject) => {
      const { member, plan, tokens } = request;
      this.waiting.push({ member, plan, tokens, resolve, reject });
      this.schedule();
    });
  }

  /** How the request would be judged now, in a call of its own that counts nothing. @throws Error as {@link judge} */
  async look(request: JudgedRequest): Promise<Verdict> {
    const call = new LimitCall(this.leaseMs, BUCKETS_PER_WINDOW, true);
    call.addRequest(request);
    const { nowMs, results } = await this.connection.run(call);
    return toVerdict(results[0] as readonly number[], nowMs);
  }

  /** Sent with the next call; kept while Redis is away. */
  release(release: Release): void {
    this.releases.push(release);
    this.schedule();
  }

  /** Begins the leases of these slots anew. @throws Error when Redis cannot be asked. */
  async renew(held: readonly HeldSlots[]): Promise<void> {
    const call = this.newCall();
    for (const slots of held) call.addHeld(slots);
    await this.connection.run(call);
  }

  /** Resolves when nothing is under way and what was given back has been sent, or could not be. */
  async close(): Promise<void> {
    clearTimeout(this.retryTimer);
    while (this.sending !== null) await this.sending;
    if (this.releases.length > 0) await this.send();
    clearTimeout(this.retryTimer);
  }

  private schedule(): void {
    this.sending ??= this.sendNext();
  }

  /** Leaves what the sockets of this turn still bring time to join. */
  private async sendNext(): Promise<void> {
    await endOfTurn();
    const works = await this.send();
    this.sending = null;
    // What has come since a failure is a call of its own.
    if (this.waiting.length > 0 || (works && this.releases.length > 0)) this.schedule();
    else if (!works) this.retryReleases();
  }

  /** One call; `false` when it failed. Never rejects. */
  private async send(): Promise<boolean> {
    const requests = this.waiting.splice(0, MAX_REQUESTS);
    const releases = this.releases.splice(0, MAX_RELEASES);
    const call = this.newCall();
    for (const release of releases) call.addRelease(release);
    for (const request of requests) call.addRequest(request);
    try {
      const { nowMs, results } = await this.connection.run(call);
      requests.forEach((request, index) => {
        request.resolve(toVerdict(results[index] as readonly number[], nowMs));
      });
      return true;
    } catch (error) {
      this.takeBack(releases, requests);
      for (const { reject } of [...requests, ...this.waiting.splice(0)]) reject(error);
      return false;
    }
  }

  /** Nobody knows what a call did that got no answer: slots it may have taken are freed, which is never wrong. */
  private takeBack(releases: readonly Release[], requests: readonly JudgedRequest[]): void {
    const uncertain = requests
      .filter(({ plan }) => plan.slotChecks.length > 0)
      .map(({ member, plan }) => ({ member, plan, admittedAtMs: 0, unusedTokens: 0 }));
    this.releases = [...releases, ...this.releases, ...uncertain].slice(-MAX_WAITING_RELEASES);
  }

  private retryReleases(): void {
    if (this.releases.length === 0) return;
    clearTimeout(this.retryTimer);
    this.retryTimer = setTimeout(() => this.schedule(), RETRY_RELEASES_MS).unref();
  }

  private newCall(): LimitCall {
    return new LimitCall(this.leaseMs, BUCKETS_PER_WINDOW);
  }
}

function toVerdict(row: readonly number[], nowMs: number): Verdict {
  return { refusedBy: row[0] as number, waitMs: row[1] as number, nowMs, row };
}
