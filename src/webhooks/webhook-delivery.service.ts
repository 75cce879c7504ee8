import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { InFlight } from '../core/concurrency/in-flight';
import type { WakeUp } from '../core/queue/wake-up-queue';
import { CLOCK, type Clock } from '../core/time/clock';
import { WebhookAttemptService } from './webhook-attempt.service';
import { WebhookDeliveryRepository } from './webhook-delivery.repository';
import { WebhookWakeUps } from './webhook-wake-ups';

/** Concurrent posts per process. */
export const MAX_POSTS = 64;
/** Delay before a claim, so that several requests share it. */
const GAP_MS = 25;
/** Delay of a delivery that is due but must wait for a slot of its host or organization. */
const NO_SLOT_DELAY_MS = 1_000;
/** Time limit of a post and its recording. */
const DRAIN_MS = 20_000;

/**
 * Delivers due webhooks in every worker process: on wake-ups, once a second, and whenever a post ends. Processes share
 * the work by claiming rows. A claim takes whatever is due in a fair order, not the delivery of one wake-up.
 */
@Injectable()
export class WebhookDeliveryService implements OnApplicationShutdown {
  private readonly logger = new Logger('Webhooks');
  private readonly posts = new InFlight();
  private readonly postOf = new Map<string, Promise<void>>();
  private stopping: Promise<void> | null = null;
  /** The next claim, which has not started yet. */
  private upcoming: Promise<void> | null = null;
  /** The claim in progress, if any. */
  private claiming: Promise<void> = Promise.resolve();
  /** Set while claims fail, so that the warning is logged once. */
  private failing = false;

  constructor(
    private readonly deliveries: WebhookDeliveryRepository,
    private readonly attempts: WebhookAttemptService,
    private readonly wakeUps: WebhookWakeUps,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  onApplicationShutdown(): Promise<void> {
    return this.stop();
  }

  /** Starts no more posts; resolves when those under way are recorded, or after 20 s. */
  stop(): Promise<void> {
    return (this.stopping ??= this.drain());
  }

  /** Call after a job has ended: a delivery may be due. Never rejects: the sweep finds deliveries without a wake-up. */
  async wakeForJob(organizationId: string, jobId: string): Promise<void> {
    const id = await this.deliveries.findPendingOfJob(organizationId, jobId).catch(() => null);
    if (id !== null) await this.wakeUps.wake({ organizationId, id });
  }

  /**
   * Posts the delivery if it is due and may be posted now. Returns the milliseconds until its next attempt; `null`: it
   * has ended.
   */
  async deliver(delivery: WakeUp): Promise<number | null> {
    const dueInMs = await this.deliveries.findDueInMs(delivery);
    if (dueInMs === null) return null;
    // A claim of this process may have taken the delivery before its wake-up, and the post may have ended since the
    // read.
    await (dueInMs > 0 ? this.claiming : this.claimSoon());
    await this.postOf.get(delivery.id);
    const nextInMs = await this.deliveries.findDueInMs(delivery);
    return nextInMs === 0 ? NO_SLOT_DELAY_MS : nextInMs;
  }

  /** Claims due deliveries and begins to post them. Concurrent calls share a claim. Never rejects. */
  claimSoon(): Promise<void> {
    return (this.upcoming ??= this.claimAfterGap());
  }

  /** Claims and posts due deliveries. Resolves with their number when all posts have ended. */
  async deliverDue(): Promise<number> {
    const begun = await this.beginDue();
    await Promise.all(begun);
    return begun.length;
  }

  private async drain(): Promise<void> {
    await this.claiming;
    if (!(await this.posts.whenIdle(DRAIN_MS))) {
      this.logger.warn({
        message: 'webhook posts still in flight at the drain deadline',
        event: 'webhook_drain_timeout',
      });
    }
  }

  private async claimAfterGap(): Promise<void> {
    await Promise.all([this.claiming, delay(GAP_MS, undefined, { ref: false })]);
    this.upcoming = null;
    this.claiming = this.claimDue();
    await this.claiming;
  }

  private async claimDue(): Promise<void> {
    if (this.stopping !== null) return;
    try {
      // Each ended post frees a slot, of its host or of this process.
      for (const post of await this.beginDue()) void post.then(() => this.claimSoon());
      this.failing = false;
    } catch (error) {
      if (!this.failing) {
        this.logger.warn({
          message: 'failed to claim webhook deliveries',
          event: 'webhook_claim_failed',
          err: error,
        });
      }
      this.failing = true;
    }
  }

  private async beginDue(): Promise<readonly Promise<void>[]> {
    const room = MAX_POSTS - this.posts.size;
    if (room <= 0) return [];
    const claimedAtMs = this.clock.monotonic();
    const claimed = await this.deliveries.claim(room);
    return claimed.map((delivery) => {
      this.posts.begin();
      const post = this.attempts.make(delivery, claimedAtMs).finally(() => {
        this.postOf.delete(delivery.id);
        this.posts.end();
      });
      this.postOf.set(delivery.id, post);
      return post;
    });
  }
}
