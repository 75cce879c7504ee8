import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { CLOCK, type Clock } from '../common/clock';
import { InFlight } from '../common/in-flight';
import { PeriodicTask } from '../common/periodic-task';
import { WebhookAttemptService } from './webhook-attempt.service';
import { WebhookDeliveryRepository } from './webhook-delivery.repository';

/** Posts of this process at once. */
const MAX_AT_ONCE = 64;
const POLL_MS = 1_000;
/** From a reason to look until the look, in which more reasons may come together. */
const GAP_MS = 25;
/** What a post may take, and noting it down. */
const DRAIN_MS = 20_000;
const PRUNE_PAUSE_MS = 3_600_000;
const PRUNE_BATCH = 1_000;

/**
 * Delivers what is due, again and again, in every process that does work. It looks every second, at once when told, and
 * whenever a post ends. The processes share the work by claiming rows.
 */
@Injectable()
export class WebhookDeliveryService implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('Webhooks');
  private readonly posts = new InFlight();
  private readonly pruner = new PeriodicTask({
    pauseMs: () => PRUNE_PAUSE_MS,
    run: () => this.prune(),
    onError: (error) => this.logger.warn(`Old webhook deliveries cannot be removed at the moment: ${String(error)}`),
  });
  private stopped = true;
  private looking = false;
  /** To be looked for soon, or again. */
  private hurry = false;
  private stopping: Promise<void> | null = null;
  private timer: NodeJS.Timeout | undefined;
  /** Resolves when nothing is being claimed. */
  private look: Promise<void> = Promise.resolve();
  /** Told once, until it goes well again. */
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

  /** Begins no more posts; resolves when those under way have ended and are noted down, or after 20 s. */
  stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    return (this.stopping ??= this.drain());
  }

  /** There may be something to deliver now: for whoever has just ended a job. */
  wake(): void {
    if (this.stopped || this.hurry) return;
    this.hurry = true;
    if (!this.looking) this.lookIn(GAP_MS);
  }

  /** Claims what is due and posts it. Resolves, when all of it has ended, with how many it were. */
  async deliverDue(): Promise<number> {
    const begun = await this.beginDue();
    await Promise.all(begun);
    return begun.length;
  }

  private async drain(): Promise<void> {
    await Promise.all([this.look, this.pruner.stop()]);
    if (!(await this.posts.whenIdle(DRAIN_MS))) this.logger.warn('webhooks were still under way at the drain deadline');
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
      // The end of each makes room, at its host or here.
      for (const post of await this.beginDue()) void post.then(() => this.wake());
      this.failing = false;
    } catch (error) {
      if (!this.failing) this.logger.warn(`Webhooks cannot be delivered at the moment: ${String(error)}`);
      this.failing = true;
    }
    this.looking = false;
    if (!this.stopped) this.lookIn(this.hurry && !this.failing ? GAP_MS : POLL_MS);
  }

  private async prune(): Promise<void> {
    while ((await this.deliveries.prune(PRUNE_BATCH)) === PRUNE_BATCH);
  }
}
