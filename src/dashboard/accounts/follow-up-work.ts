import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import pLimit from 'p-limit';
import { GatewayError } from '../../core/errors/gateway-error';

/** Limit of pending tasks; each holds a few kilobytes. */
const MAX_PENDING = 1_000;
/**
 * Tasks start after a random delay, one at a time with pauses. A regular slow-down of the caller's next requests would
 * reveal as much as the response itself.
 */
const MIN_DELAY_MS = 20;
const MAX_DELAY_MS = 200;
const PAUSE_MS = 100;
const SHUTDOWN_TIMEOUT_MS = 5_000;

const logger = new Logger('FollowUpWork');

/**
 * Runs work after the response, because its duration would reveal whether an account exists. Pending work is in memory
 * only: after a crash the user requests it again, as with a lost mail. Work that fails with `rate_limited` is dropped.
 */
@Injectable()
export class FollowUpWork implements OnApplicationShutdown {
  private readonly runAlone = pLimit(1);
  private readonly pending = new Set<Promise<void>>();
  private delays = new AbortController();

  /** @throws GatewayError `service_unavailable` when too much is pending. */
  assertRoom(): void {
    if (this.pending.size < MAX_PENDING) return;
    throw new GatewayError('service_unavailable', 'Too many account requests are pending. Retry shortly.', {
      retryAfterSeconds: 1,
    });
  }

  /** Never throws; any other failure of `work` is logged. */
  add(work: () => Promise<void>): void {
    const done = this.runLogged(work).finally(() => this.pending.delete(done));
    this.pending.add(done);
  }

  /** Skips delays and pauses, and resolves when nothing is pending. */
  async flush(): Promise<void> {
    this.delays.abort();
    this.delays = new AbortController();
    await Promise.all(this.pending);
  }

  async onApplicationShutdown(): Promise<void> {
    const timeout = new AbortController();
    const timer = pause(SHUTDOWN_TIMEOUT_MS, undefined, { signal: timeout.signal }).catch(() => undefined);
    await Promise.race([this.flush(), timer]);
    timeout.abort();
    if (this.pending.size > 0) {
      const message = `${this.pending.size} accepted account requests were lost on shutdown`;
      logger.error({ event: 'account_work_lost', message });
    }
  }

  private async runLogged(work: () => Promise<void>): Promise<void> {
    const { signal } = this.delays;
    const delay = (ms: number) => pause(ms, undefined, { signal }).catch(() => undefined);
    await delay(randomInt(MIN_DELAY_MS, MAX_DELAY_MS));
    await this.runAlone(async () => {
      await this.attempt(work);
      await delay(PAUSE_MS);
    });
  }

  private async attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      // The address has reached its mail limit, and the newest mail is still valid.
      if (error instanceof GatewayError && error.code === 'rate_limited') return;
      logger.error({ event: 'account_work_failed', message: 'an accepted account request failed', err: error });
    }
  }
}
