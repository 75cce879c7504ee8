import { randomBytes } from 'node:crypto';
import { Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { Clock } from '../common/clock';
import { GatewayError } from '../common/errors/gateway-error';
import { PeriodicTask } from '../common/periodic-task';
import type { Principal } from '../common/principal';
import type { RequestContext } from '../common/request-context';
import type { LimitCheck, LimitPlan } from './limit-check';
import { LimitConnection } from './limit-connection';
import type { LimitedModel, LimitPlanner } from './limit-planner';
import { LimitQueue, type Verdict } from './limit-queue';
import { type LimitOutlook, limitStandings } from './limit-outlook';
import { limitReached, limitsUnavailable, refusalOf } from './limit-refusal';
import { rateLimitHeaders } from './rate-limit-headers';
import { heldSlots } from './held-slots';

/** What is judged before a request may spend anything. */
export interface LimitedRequest {
  /** Its `rateLimitHeaders` are set, whether the request is let in or refused. */
  readonly context: Pick<RequestContext, 'rateLimitHeaders'>;
  readonly principal: Principal;
  readonly model: LimitedModel;
  /** Models that may answer in its place. */
  readonly fallbacks: readonly LimitedModel[];
  /** Estimated tokens: prompt and the most that may be generated. */
  readonly tokens: number;
}

/** A request that was let through. */
export interface LimitLease {
  /** Ends the request's share of concurrency and corrects the token window. Never throws; further calls do nothing. */
  release(actualTokens: number): void;
}

export interface LimiterTimes {
  /** How long a slot outlives a process that has crashed. */
  readonly leaseMs: number;
  readonly renewEveryMs: number;
}

export const LIMITER_TIMES: LimiterTimes = { leaseMs: 30_000, renewEveryMs: 10_000 };

/** A caller whose requests are refused whatever they ask for, until a moment of the monotonic clock. */
interface Refusal {
  readonly sinceMs: number;
  readonly waitMs: number;
  readonly check: LimitCheck;
  readonly plan: LimitPlan;
  readonly row: readonly number[];
}

/**
 * How fast requests may come: of a key, an organization, a model and everybody, judged at once in Redis (README of this
 * folder). While Redis cannot be asked, nothing is let in.
 */
export class LimiterService implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(LimiterService.name);
  private readonly queue: LimitQueue;
  private readonly renewal: PeriodicTask;
  private readonly refusals = new WeakMap<Principal, Refusal>();
  /** Leases with slots that have not been released. */
  private readonly held = new Set<SlotLease>();
  private readonly instance = randomBytes(6).toString('base64url');
  private admitted = 0;

  constructor(
    private readonly planner: LimitPlanner,
    private readonly connection: LimitConnection,
    private readonly clock: Clock,
    times: LimiterTimes = LIMITER_TIMES,
  ) {
    this.queue = new LimitQueue(connection, times.leaseMs);
    this.renewal = new PeriodicTask({
      run: () => this.renew(),
      onError: () => undefined,
      pauseMs: () => times.renewEveryMs,
    });
  }

  onModuleInit(): void {
    void this.renewal.start();
    // A Redis that was replaced has forgotten what is in flight.
    this.connection.onReady(() => void this.renew().catch(() => undefined));
  }

  /** Runs after the last requests have ended: what they give back is still sent. */
  async onApplicationShutdown(): Promise<void> {
    await this.renewal.stop();
    await this.queue.close();
    this.connection.close();
  }

  /**
   * Judges all limits of a request at once; when any refuses, none has counted it.
   * @throws GatewayError `rate_limited`, `tokens_per_minute_exceeded`, `concurrency_exceeded`, `service_unavailable`.
   */
  async admit({ context, principal, model, fallbacks, tokens }: LimitedRequest): Promise<LimitLease> {
    const plan = this.planner.planFor(principal, model, fallbacks);
    const member = `${this.instance}${(this.admitted++).toString(36)}`;
    let verdict: Verdict;
    try {
      verdict = await this.queue.judge({ member, plan, tokens });
    } catch (cause) {
      throw limitsUnavailable(cause);
    }
    if (verdict.refusedBy < 0) {
      this.logger.error('A key of the limits in Redis is not of the type it should be; its requests are refused');
      throw limitsUnavailable(new Error('a key in Redis cannot be read'));
    }
    context.rateLimitHeaders = rateLimitHeaders(plan, verdict.row);
    if (verdict.refusedBy > 0) throw this.refuse(principal, plan, verdict, tokens);
    return this.lease(member, plan, tokens, verdict.nowMs);
  }

  /**
   * How the request would fare now; nothing is counted, and nobody's next request fares otherwise.
   * @throws GatewayError `service_unavailable`
   */
  async look({ principal, model, fallbacks, tokens }: Omit<LimitedRequest, 'context'>): Promise<LimitOutlook> {
    const plan = this.planner.planFor(principal, model, fallbacks);
    let verdict: Verdict;
    try {
      verdict = await this.queue.look({ member: `${this.instance}look`, plan, tokens });
    } catch (cause) {
      throw limitsUnavailable(cause);
    }
    if (verdict.refusedBy < 0) throw limitsUnavailable(new Error('a key in Redis cannot be read'));
    return {
      limits: limitStandings(plan, verdict, tokens),
      refusal: verdict.refusedBy === 0 ? null : refusalOf(plan, verdict, tokens),
    };
  }

  /**
   * Refuses a caller that is known to be over a limit of requests, without asking Redis: for the time before anything
   * of the request is read.
   * @throws GatewayError `rate_limited`, as {@link admit} would.
   */
  refuseEarly(context: Pick<RequestContext, 'rateLimitHeaders'>, principal: Principal): void {
    const refusal = this.refusals.get(principal);
    if (refusal === undefined) return;
    const { check, plan, row, sinceMs, waitMs } = refusal;
    const ageMs = this.clock.monotonic() - sinceMs;
    if (ageMs >= waitMs) {
      this.refusals.delete(principal);
      return;
    }
    context.rateLimitHeaders = rateLimitHeaders(plan, row, ageMs);
    throw limitReached(check, waitMs - ageMs);
  }

  private refuse(principal: Principal, plan: LimitPlan, verdict: Verdict, tokens: number): GatewayError {
    const { refusedBy, waitMs, row } = verdict;
    const check = plan.checks[refusedBy - 1];
    // Requests for another model, or for fewer tokens, may fit: only these two kinds refuse everything of the caller.
    if (
      check !== undefined &&
      check.scope !== 'model' &&
      (check.kind === 'requests_per_second' || check.kind === 'requests_per_minute')
    ) {
      this.refusals.set(principal, { sinceMs: this.clock.monotonic(), waitMs, check, plan, row });
    }
    return refusalOf(plan, verdict, tokens);
  }

  private lease(member: string, plan: LimitPlan, estimatedTokens: number, admittedAtMs: number): LimitLease {
    const { slotChecks, tokenChecks } = plan;
    const lease: SlotLease = {
      member,
      slotChecks,
      release: (actualTokens) => {
        if (lease.ended) return;
        lease.ended = true;
        this.held.delete(lease);
        const unusedTokens = estimatedTokens - actualTokens;
        if (slotChecks.length === 0 && (tokenChecks.length === 0 || unusedTokens === 0)) return;
        this.queue.release({ member, plan, admittedAtMs, unusedTokens });
      },
      ended: false,
    };
    if (slotChecks.length > 0) this.held.add(lease);
    return lease;
  }

  private async renew(): Promise<void> {
    for (const slots of heldSlots(this.held)) await this.queue.renew(slots);
  }
}

interface SlotLease extends LimitLease {
  readonly member: string;
  readonly slotChecks: readonly LimitCheck[];
  ended: boolean;
}
