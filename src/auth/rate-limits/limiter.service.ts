import { randomBytes } from 'node:crypto';
import { Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { GatewayError } from '../../core/errors/gateway-error';
import type { Metrics } from '../../core/observability/metrics/catalogue';
import type { Clock } from '../../core/time/clock';
import { PeriodicTask } from '../../core/time/periodic-task';
import type { Principal, RequestContext } from '../../core/types/request-context';
import { heldSlots } from './limit-call';
import {
  type LimitCheck,
  type LimitOutlook,
  type LimitPlan,
  limitReached,
  limitStandings,
  limitsUnavailable,
  refusalOf,
  type Verdict,
} from './limit-check';
import type { LimitConnection } from './limit-connection';
import type { LimitedModel, LimitPlanner } from './limit-planner';
import { LimitQueue } from './limit-queue';
import { ShardedLimitQueue } from './sharded-limit-queue';

/** The request as seen by the limit checks. */
interface LimitedRequest {
  /** Its `rateLimitHeaders` are set, whether the request is admitted or refused. */
  readonly context: Pick<RequestContext, 'rateLimitHeaders'>;
  readonly principal: Principal;
  readonly model: LimitedModel;
  /** Models that may serve the request in place of `model`. */
  readonly fallbacks: readonly LimitedModel[];
  /** Estimated tokens: prompt plus maximum output. */
  readonly tokens: number;
}

/** An admitted request. */
export interface LimitLease {
  /** Frees the concurrency slots and corrects the token window. Never throws; further calls do nothing. */
  release(actualTokens: number): void;
}

export interface LimiterTimes {
  /** How long a slot outlives a crashed process. */
  readonly leaseMs: number;
  readonly renewEveryMs: number;
}

const REQUEST_HEADERS = namesOf('requests');
const TOKEN_HEADERS = namesOf('tokens');

/** An outage has ended once Redis has answered for this long: on a busy machine single calls fail in between. */
const OUTAGE_ENDS_AFTER_MS = 1_000;

/**
 * How long to remember a refusal by one of several nodes: it may be due to requests that another node refuses, which
 * stop counting a moment later.
 */
const DOUBTFUL_REFUSAL_MS = 1_000;

/** A period in which calls to Redis fail; monotonic milliseconds. */
interface Outage {
  readonly sinceMs: number;
  lastFailureMs: number;
  refusedRequests: number;
}

const LIMITER_TIMES: LimiterTimes = { leaseMs: 30_000, renewEveryMs: 10_000 };

/** The refusal of all requests of a caller, until a time of the monotonic clock. */
interface Refusal {
  readonly sinceMs: number;
  readonly waitMs: number;
  readonly keptMs: number;
  readonly check: LimitCheck;
  readonly plan: LimitPlan;
  readonly row: readonly number[];
}

/**
 * Enforces the limits of keys, organizations, models and all callers, checked together in Redis (README of this
 * folder). While Redis is unavailable, requests are refused.
 */
export class LimiterService implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(LimiterService.name);
  private readonly queue: LimitQueue | ShardedLimitQueue;
  private readonly renewal: PeriodicTask;
  private readonly refusals = new WeakMap<Principal, Refusal>();
  /** Leases with slots that have not been released. */
  private readonly held = new Set<SlotLease>();
  private readonly instance = randomBytes(6).toString('base64url');
  private admitted = 0;
  private outage: Outage | null = null;

  constructor(
    private readonly planner: LimitPlanner,
    private readonly connection: LimitConnection,
    private readonly clock: Clock,
    private readonly metrics: Metrics,
    times: LimiterTimes = LIMITER_TIMES,
  ) {
    const Queue = connection.isCluster ? ShardedLimitQueue : LimitQueue;
    this.queue = new Queue(connection, times.leaseMs, metrics);
    this.renewal = new PeriodicTask({
      run: () => this.renew(),
      onError: () => undefined,
      pauseMs: () => times.renewEveryMs,
    });
  }

  onModuleInit(): void {
    void this.renewal.start();
    // A replaced Redis has lost the slots of requests in flight.
    this.connection.onReady(() => void this.renew().catch(() => undefined));
  }

  /** Runs after the last requests have ended, so that their releases are still sent. */
  async onApplicationShutdown(): Promise<void> {
    await this.renewal.stop();
    await this.queue.close();
    this.connection.close();
  }

  /**
   * Checks all limits of a request at once. A request that any limit refuses counts against none.
   * @throws GatewayError `rate_limited`, `tokens_per_minute_exceeded`, `concurrency_exceeded`, `service_unavailable`.
   */
  async admit({ context, principal, model, fallbacks, tokens }: LimitedRequest): Promise<LimitLease> {
    const plan = this.planner.planFor(principal, model, fallbacks);
    const member = `${this.instance}${(this.admitted++).toString(36)}`;
    let verdict: Verdict;
    try {
      verdict = await this.queue.judge({ member, plan, tokens });
    } catch (cause) {
      this.noteOutage(cause);
      throw limitsUnavailable(cause);
    }
    if (this.outage !== null) this.noteAnswer(this.outage);
    this.assertReadable(verdict);
    context.rateLimitHeaders = rateLimitHeaders(plan, verdict.row);
    if (verdict.refusedBy > 0) throw this.refuse(principal, plan, verdict, tokens);
    return this.lease(member, plan, tokens, verdict);
  }

  /**
   * Checks a request that only reads or deletes. It counts against no other limit, and is admitted while Redis is
   * unavailable.
   * @throws GatewayError `rate_limited`; `service_unavailable` when its key in Redis cannot be read
   */
  async admitRead(principal: Principal): Promise<void> {
    const plan = this.planner.readPlanFor(principal);
    let verdict: Verdict;
    try {
      verdict = await this.queue.judge({ member: `${this.instance}read`, plan, tokens: 0 });
    } catch {
      return;
    }
    this.assertReadable(verdict);
    if (verdict.refusedBy === 0) return;
    this.noteRefusal(plan, verdict);
    throw refusalOf(plan, verdict, 0);
  }

  /**
   * Dry run: predicts the outcome without counting, so later requests are not affected.
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
    this.assertReadable(verdict);
    return {
      limits: limitStandings(plan, verdict, tokens),
      refusal: verdict.refusedBy === 0 ? null : refusalOf(plan, verdict, tokens),
    };
  }

  /**
   * Refuses a caller known to be over a request limit, without a Redis call, before the request is read.
   * @throws GatewayError `rate_limited`, as {@link admit} would.
   */
  refuseEarly(context: Pick<RequestContext, 'rateLimitHeaders'>, principal: Principal): void {
    const refusal = this.refusals.get(principal);
    if (refusal === undefined) return;
    const { check, plan, row, sinceMs, waitMs, keptMs } = refusal;
    const ageMs = this.clock.monotonic() - sinceMs;
    if (ageMs >= keptMs) {
      this.refusals.delete(principal);
      return;
    }
    context.rateLimitHeaders = rateLimitHeaders(plan, row, ageMs);
    this.metrics.limitRefusals.of(check.scope, check.kind).inc();
    throw limitReached(check, waitMs - ageMs);
  }

  /** @throws GatewayError `service_unavailable` */
  private assertReadable({ refusedBy }: Verdict): void {
    if (refusedBy >= 0) return;
    this.logger.error({
      event: 'limit_key_unreadable',
      message: 'a rate limit key in Redis has the wrong type; its requests are refused',
    });
    throw limitsUnavailable(new Error('a key in Redis cannot be read'));
  }

  private noteRefusal(plan: LimitPlan, { refusedBy }: Verdict): void {
    const check = plan.checks[refusedBy - 1];
    if (check !== undefined) this.metrics.limitRefusals.of(check.scope, check.kind).inc();
  }

  private refuse(principal: Principal, plan: LimitPlan, verdict: Verdict, tokens: number): GatewayError {
    const { refusedBy, waitMs, row, partTimesMs } = verdict;
    const check = plan.checks[refusedBy - 1];
    this.noteRefusal(plan, verdict);
    // Requests for another model or fewer tokens may fit: only these two kinds refuse all requests of the caller.
    if (
      check !== undefined &&
      check.scope !== 'model' &&
      (check.kind === 'requests_per_second' || check.kind === 'requests_per_minute')
    ) {
      const keptMs = partTimesMs === undefined ? waitMs : Math.min(waitMs, DOUBTFUL_REFUSAL_MS);
      this.refusals.set(principal, { sinceMs: this.clock.monotonic(), waitMs, keptMs, check, plan, row });
    }
    return refusalOf(plan, verdict, tokens);
  }

  private lease(member: string, plan: LimitPlan, estimatedTokens: number, verdict: Verdict): LimitLease {
    const { slotChecks, tokenChecks } = plan;
    const { nowMs: admittedAtMs, partTimesMs } = verdict;
    const lease: SlotLease = {
      member,
      slotChecks,
      release: (actualTokens) => {
        if (lease.ended) return;
        lease.ended = true;
        this.held.delete(lease);
        const unusedTokens = estimatedTokens - actualTokens;
        if (slotChecks.length === 0 && (tokenChecks.length === 0 || unusedTokens === 0)) return;
        this.queue.release({ member, plan, admittedAtMs, partTimesMs, unusedTokens });
      },
      ended: false,
    };
    if (slotChecks.length > 0) this.held.add(lease);
    return lease;
  }

  /** Logs the first refusal of an outage. The connection may be alive: Redis may only be slow. */
  private noteOutage(cause: unknown): void {
    const nowMs = this.clock.monotonic();
    if (this.outage === null) {
      this.outage = { sinceMs: nowMs, lastFailureMs: nowMs, refusedRequests: 0 };
      this.logger.error({
        event: 'limits_unavailable',
        message: 'Redis does not answer rate limit checks in time; spending requests get 503',
        reason: cause instanceof Error ? cause.message : String(cause),
      });
    }
    this.outage.lastFailureMs = nowMs;
    this.outage.refusedRequests++;
  }

  private noteAnswer({ sinceMs, lastFailureMs, refusedRequests }: Outage): void {
    const nowMs = this.clock.monotonic();
    if (nowMs - lastFailureMs < OUTAGE_ENDS_AFTER_MS) return;
    this.outage = null;
    this.logger.warn({
      event: 'limits_available',
      message: 'Redis answers rate limit checks again',
      outage_ms: Math.round(lastFailureMs - sinceMs),
      refused_requests: refusedRequests,
    });
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

/**
 * `x-ratelimit-*`: of several request limits, or token limits, the one with the least left.
 * @param row per check of the plan: the remainder at `2n + 2`, milliseconds until the limit is fully free at `2n + 3`.
 * @param ageMs age of the row.
 */
export function rateLimitHeaders(plan: LimitPlan, row: readonly number[], ageMs = 0): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  addTightest(headers, REQUEST_HEADERS, plan, plan.shownRequests, row, ageMs);
  addTightest(headers, TOKEN_HEADERS, plan, plan.shownTokens, row, ageMs);
  return headers;
}

function addTightest(
  headers: Record<string, string>,
  names: typeof REQUEST_HEADERS,
  { checks }: LimitPlan,
  positions: readonly number[],
  row: readonly number[],
  ageMs: number,
): void {
  let tightest = -1;
  let left = Number.POSITIVE_INFINITY;
  let resetMs = 0;
  for (const position of positions) {
    const remaining = row[2 * position + 2] as number;
    const reset = row[2 * position + 3] as number;
    if (remaining > left || (remaining === left && reset <= resetMs)) continue;
    tightest = position;
    left = remaining;
    resetMs = reset;
  }
  const check = checks[tightest];
  if (check === undefined) return;
  headers[names.limit] = String(check.limit);
  headers[names.remaining] = String(left);
  headers[names.reset] = formatDuration(Math.max(0, resetMs - ageMs));
}

/** Built once: concatenating names per response costs more than setting the values. */
function namesOf(unit: 'requests' | 'tokens') {
  return {
    limit: `x-ratelimit-limit-${unit}`,
    remaining: `x-ratelimit-remaining-${unit}`,
    reset: `x-ratelimit-reset-${unit}`,
  };
}

/** Whole seconds, rounded up, as clients of the chat-completion format read them: `0s`, `6s`, `1m0s`. */
export function formatDuration(durationMs: number): string {
  const seconds = Math.ceil(durationMs / 1_000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
