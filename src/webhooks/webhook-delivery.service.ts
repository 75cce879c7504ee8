import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { CLOCK, type Clock } from '../core/time/clock';
import { InFlight } from '../core/concurrency/in-flight';
import { PeriodicTask } from '../core/time/periodic-task';
import { WebhookAttemptService } from './webhook-attempt.service';
import { WebhookDeliveryRepository } from './webhook-delivery.repository';

/** Concurrent posts per process. */
const MAX_AT_ONCE = 64;
const POLL_MS = 1_000;
/** Delay between a wake-up and the claim, which coalesces wake-ups. */
const GAP_MS = 25;
/** Time limit of a post and its recording. */
const DRAIN_MS = 20_000;
const PRUNE_PAUSE_MS = 3_600_000;
const PRUNE_BATCH = 1_000;

/**
 * Delivers due webhooks in every worker process. Polls every second, on each wake-up and whenever a post ends. Processes
 * share the work by claiming rows.
 */
@Injectable()
export class WebhookDeliveryService implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('Webhooks');
  private readonly posts = new InFlight();
  private readonly pruner = new PeriodicTask({
    pauseMs: () => PRUNE_PAUSE_MS,
    run: () => this.prune(),
    onError: (error) =>
      this.logger.warn({
        message: 'failed to delete old webhook deliveries',
        event: 'webhook_prune_failed',
        cause: String(error),
      }),
  });
  private stopped = true;
  private looking = false;
  /** A wake-up is pending. */
  private hurry = false;
  private stopping: Promise<void> | null = null;
  private timer: NodeJS.Timeout | undefined;
  /** Resolves when no claim is in progress. */
  private look: Promise<void> = Promise.resolve();
  /** Set while claims fail, so that the warning is logged once. */
  private failing = false;

  constructor(
    private readonly deliveries: WebhookDeliveryRepository,
    private readonly attempts: WebhookAttemptService,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.stop();
  }

  start(): void {
    this.stopped = false;
    this.stopping = null;
    this.wake();
    void this.pruner.start();
  }

  /** Starts no more posts; resolves when those under way are recorded, or after 20 s. */
  stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    return (this.stopping ??= this.drain());
  }

  /** Call after ending a job: a delivery may be due. */
  wake(): void {
    if (this.stopped || this.hurry) return;
    this.hurry = true;
    if (!this.looking) this.lookIn(GAP_MS);
  }

  /** Claims and posts due deliveries. Resolves with their number when all posts have ended. */
  async deliverDue(): Promise<number> {
    const begun = await this.beginDue();
    await Promise.all(begun);
    return begun.length;
  }

  private async drain(): Promise<void> {
    await Promise.all([this.look, this.pruner.stop()]);
    if (!(await this.posts.whenIdle(DRAIN_MS))) {
      this.logger.warn({
        message: 'webhook posts still under way at the drain deadline',
        event: 'webhook_drain_timeout',
      });
    }
  }

  private async beginDue(): Promise<readonly Promise<void>[]> {
    const room = MAX_AT_ONCE - this.posts.size;
    if (room <= 0) return [];
    const claimedAtMs = this.clock.monotonic();
    const claimed = await this.deliveries.claim(room);
    return claimed.map(async (delivery) => {
      this.posts.begin();
      try {
        await this.attempts.make(delivery, claimedAtMs);
      } finally {
        this.posts.end();
      }
    });
  }

  private lookIn(pauseMs: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.look = this.lookOnce();
    }, pauseMs).unref();
  }

  private async lookOnce(): Promise<void> {
    this.looking = true;
    this.hurry = false;
    try {
      // Each ended post frees a slot, of its host or of this process.
      for (const post of await this.beginDue()) void post.then(() => this.wake());
      this.failing = false;
    } catch (error) {
      if (!this.failing) {
        this.logger.warn({
          message: 'failed to claim webhook deliveries',
          event: 'webhook_claim_failed',
          cause: String(error),
        });
      }
      this.failing = true;
    }
    this.looking = false;
    if (!this.stopped) this.lookIn(this.hurry && !this.failing ? GAP_MS : POLL_MS);
  }

  private async prune(): Promise<void> {
    while ((await this.deliveries.prune(PRUNE_BATCH)) === PRUNE_BATCH);
  }
}
