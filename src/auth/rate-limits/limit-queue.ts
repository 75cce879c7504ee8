import { gatherEntries } from '../../core/concurrency/gathering';
import type { Metrics } from '../../core/observability/metrics/catalogue';
import { type HeldSlots, type JudgedRequest, LimitCall, type Release } from './limit-call';
import type { Verdict } from './limit-check';
import type { LimitConnection } from './limit-connection';
import { BUCKETS_PER_WINDOW } from './limit-script';

interface WaitingRequest extends JudgedRequest {
  resolve(verdict: Verdict): void;
  reject(error: unknown): void;
}

/** Requests and releases per call, so that a call does not block Redis for long. */
const MAX_REQUESTS = 256;
const MAX_RELEASES = 512;
/** During a Redis outage older releases are dropped; their leases expire on their own. */
const MAX_WAITING_RELEASES = 50_000;
const RETRY_RELEASES_MS = 250;

/**
 * Batches the checks of a few event loop iterations, and those that arrive during a call, into one Redis call. A failed
 * call also refuses the requests that wait for the next one: they have waited already, and Redis is unavailable.
 */
export class LimitQueue {
  private waiting: WaitingRequest[] = [];
  private releases: Release[] = [];
  private sending: Promise<void> | null = null;
  private retryTimer: NodeJS.Timeout | undefined;

  constructor(
    private readonly connection: LimitConnection,
    private readonly leaseMs: number,
    private readonly metrics: Metrics,
  ) {}

  /** @throws Error when Redis is unavailable. */
  judge(request: JudgedRequest): Promise<Verdict> {
    return new Promise((resolve, reject) => {
      const { member, plan, tokens } = request;
      this.waiting.push({ member, plan, tokens, resolve, reject });
      this.schedule();
    });
  }

  /** Checks the request in a separate call that counts nothing. @throws Error as {@link judge} */
  async look(request: JudgedRequest): Promise<Verdict> {
    const call = new LimitCall(this.leaseMs, BUCKETS_PER_WINDOW, true);
    call.addRequest(request);
    const { nowMs, results } = await this.connection.runScript(call);
    return toVerdict(results[0] as readonly number[], nowMs);
  }

  /** Sent with the next call; kept while Redis is unavailable. */
  release(release: Release): void {
    this.releases.push(release);
    this.schedule();
  }

  /** Renews the leases of these slots. @throws Error when Redis is unavailable. */
  async renew(held: readonly HeldSlots[]): Promise<void> {
    const call = this.newCall();
    for (const slots of held) call.addHeld(slots);
    await this.connection.runScript(call);
  }

  /** Resolves when no call is in flight and all releases were sent or have failed. */
  async close(): Promise<void> {
    clearTimeout(this.retryTimer);
    while (this.sending !== null) await this.sending;
    if (this.releases.length > 0) await this.send();
    clearTimeout(this.retryTimer);
  }

  private schedule(): void {
    this.sending ??= this.sendNext();
  }

  private async sendNext(): Promise<void> {
    await gatherEntries();
    const works = await this.send();
    this.sending = null;
    // Requests that arrived after a failure form a separate call.
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
    const startedAtMs = performance.now();
    try {
      const { nowMs, results } = await this.connection.runScript(call);
      this.noteCall('ok', requests.length, startedAtMs);
      requests.forEach((request, index) => {
        request.resolve(toVerdict(results[index] as readonly number[], nowMs));
      });
      return true;
    } catch (error) {
      this.noteCall('failed', requests.length, startedAtMs);
      this.requeueReleases(releases, requests);
      for (const { reject } of [...requests, ...this.waiting.splice(0)]) reject(error);
      return false;
    }
  }

  private noteCall(result: 'ok' | 'failed', requests: number, startedAtMs: number): void {
    this.metrics.limitCalls.of(result).inc();
    if (requests > 0) this.metrics.limitRequests.of(result).inc(requests);
    this.metrics.limitCallSeconds.of().observe((performance.now() - startedAtMs) / 1_000);
  }

  /**
   * The effect of an unanswered call is unknown. Freeing slots again, including those it may have taken, is always
   * safe, but returning an amount twice would admit too many requests.
   */
  private requeueReleases(releases: readonly Release[], requests: readonly JudgedRequest[]): void {
    const uncertain = requests
      .filter(({ plan }) => plan.slotChecks.length > 0)
      .map(({ member, plan }) => ({ member, plan, admittedAtMs: 0, unusedTokens: 0 }));
    const again = releases.map((release) => ({
      ...release,
      unusedTokens: Math.min(release.unusedTokens, 0),
      isUndone: false,
    }));
    this.releases = [...again, ...this.releases, ...uncertain].slice(-MAX_WAITING_RELEASES);
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
