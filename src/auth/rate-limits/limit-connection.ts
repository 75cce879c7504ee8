import { once } from 'node:events';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { createHash, randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Metrics } from '../../core/observability/metrics/catalogue';
import { isNotPrimary } from '../../core/redis/redis.module';
import type { LimitCheck, LimitPlan } from './limit-check';
import { BUCKETS_PER_WINDOW, LIMIT_SCRIPT } from './limit-script';

/** Redis' verdict on one request. */
export interface Verdict {
  /** 0: admitted; n: refused by the n-th check of its plan; -1: a key in Redis cannot be read. */
  readonly refusedBy: number;
  /** Milliseconds until the refusing checks admit it. */
  readonly waitMs: number;
  /** Redis' clock, milliseconds since the epoch. */
  readonly nowMs: number;
  /** For check n, from 0: the remainder at `2n + 2`, milliseconds until all of it is at `2n + 3`. */
  readonly row: readonly number[];
}

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
 * Batches the checks of one event loop iteration, and those that arrive during a call, into one Redis call. A failed
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
    const { nowMs, results } = await this.connection.run(call);
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
    await this.connection.run(call);
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

  /** Waits for the remaining socket reads of this event loop iteration. */
  private async sendNext(): Promise<void> {
    await nextIteration();
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
      const { nowMs, results } = await this.connection.run(call);
      this.noteCall('ok', requests.length, startedAtMs);
      requests.forEach((request, index) => {
        const verdict = toVerdict(results[index] as readonly number[], nowMs);
        const check = request.plan.checks[verdict.refusedBy - 1];
        if (check !== undefined) this.metrics.limitRefusals.of(check.scope, check.kind).inc();
        request.resolve(verdict);
      });
      return true;
    } catch (error) {
      this.noteCall('failed', requests.length, startedAtMs);
      this.takeBack(releases, requests);
      for (const { reject } of [...requests, ...this.waiting.splice(0)]) reject(error);
      return false;
    }
  }

  private noteCall(result: 'ok' | 'failed', requests: number, startedAtMs: number): void {
    this.metrics.limitCalls.of(result).inc();
    if (requests > 0) this.metrics.limitRequests.of(result).inc(requests);
    this.metrics.limitCallSeconds.of().observe((performance.now() - startedAtMs) / 1_000);
  }

  /** The effect of an unanswered call is unknown: freeing the slots it may have taken is always safe. */
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

/** A request that waits for its limit check. */
interface JudgedRequest {
  /** Its slots' id; no two requests share one. */
  readonly member: string;
  readonly plan: LimitPlan;
  readonly tokens: number;
}

/** The release of a completed request. */
interface Release {
  readonly member: string;
  readonly plan: LimitPlan;
  /** Redis' time of the admission, which determines the bucket; milliseconds since the epoch. */
  readonly admittedAtMs: number;
  /** Estimated tokens that were not used; negative: used beyond the estimate. */
  readonly unusedTokens: number;
}

/** Slots of requests in flight. */
export interface HeldSlots {
  readonly redisKey: string;
  readonly members: readonly string[];
}

/** The script's reply: per request `[verdict, wait, remaining, reset, …]`, in the order they were added. */
export interface LimitReply {
  readonly nowMs: number;
  readonly results: readonly (readonly number[])[];
}

/** A Redis key and the affected slots. */
type SlotList = [position: number, ...members: string[]];

/** A plan as encoded in one call, shared by its requests: concurrent requests mostly have the same plan. */
interface PlanPart {
  /** Position among the plans of the call, from 1. */
  readonly number: number;
  /** `[key, limit, countsTokens, …]` for the script. */
  readonly checks: readonly number[];
  readonly tokenPositions: readonly number[];
  /** One list per slot set; plans that share a set share its list. */
  readonly freed: readonly SlotList[];
  /** Unused tokens by bucket, the same for all of its token windows. */
  readonly refunds: Map<number, number>;
}

/** Builds one call of the limit script: many requests, and the releases since the last call. */
export class LimitCall {
  readonly keys: string[] = [];
  private readonly spans: number[] = [];
  private readonly positions = new Map<string, number>();
  private readonly parts = new Map<LimitPlan, PlanPart>();
  private readonly freed = new Map<number, SlotList>();
  private readonly held: SlotList[] = [];
  private readonly requests: [planNumber: number, member: string, tokens: number][] = [];

  /** @param isLook dry run: nothing is counted */
  constructor(
    private readonly leaseMs: number,
    private readonly bucketsPerWindow: number,
    private readonly isLook = false,
  ) {}

  get requestCount(): number {
    return this.requests.length;
  }

  addRequest({ member, plan, tokens }: JudgedRequest): void {
    this.requests.push([this.partOf(plan).number, member, tokens]);
  }

  addRelease({ member, plan, admittedAtMs, unusedTokens }: Release): void {
    const { freed, refunds } = this.partOf(plan);
    for (const list of freed) list.push(member);
    const [window] = plan.tokenChecks;
    if (unusedTokens === 0 || window === undefined) return;
    const bucket = Math.floor(admittedAtMs / (window.windowMs / this.bucketsPerWindow));
    refunds.set(bucket, (refunds.get(bucket) ?? 0) + unusedTokens);
  }

  addHeld({ redisKey, members }: HeldSlots): void {
    this.held.push([this.position(redisKey, 0), ...members]);
  }

  /** The script's argument. */
  encode(nonce: string): string {
    const parts = [...this.parts.values()];
    const plans = parts.map(({ checks }) => checks);
    const freed = [...this.freed.values()].filter(({ length }) => length > 1);
    const refunds = parts.flatMap(refundsOf);
    const call = [nonce, this.leaseMs, this.spans, freed, refunds, this.held, plans, this.requests];
    return JSON.stringify(this.isLook ? [...call, true] : call);
  }

  private partOf(plan: LimitPlan): PlanPart {
    let part = this.parts.get(plan);
    if (part === undefined) {
      part = {
        number: this.parts.size + 1,
        checks: plan.checks.flatMap((check) => [
          this.positionOf(check),
          check.limit,
          check.kind === 'tokens_per_minute' ? 1 : 0,
        ]),
        tokenPositions: plan.tokenChecks.map((check) => this.positionOf(check)),
        freed: plan.slotChecks.map((check) => this.freedOf(this.positionOf(check))),
        refunds: new Map(),
      };
      this.parts.set(plan, part);
    }
    return part;
  }

  private freedOf(position: number): SlotList {
    let list = this.freed.get(position);
    if (list === undefined) this.freed.set(position, (list = [position]));
    return list;
  }

  private positionOf({ redisKey, windowMs }: LimitCheck): number {
    return this.position(redisKey, windowMs);
  }

  /** Lua counts from 1. */
  private position(redisKey: string, windowMs: number): number {
    let position = this.positions.get(redisKey);
    if (position === undefined) {
      this.spans.push(windowMs);
      position = this.keys.push(redisKey);
      this.positions.set(redisKey, position);
    }
    return position;
  }
}

/** `[key, bucket, amount, …]` for the script. */
function refundsOf({ tokenPositions, refunds }: PlanPart): number[] {
  const list: number[] = [];
  for (const [bucket, amount] of refunds) {
    for (const position of tokenPositions) list.push(position, bucket, amount);
  }
  return list;
}

const SCRIPT_SHA = createHash('sha1').update(LIMIT_SCRIPT).digest('hex');
/** Consecutive timeouts after which the connection counts as dead: calls to a vanished host never end. */
const MAX_TIMEOUTS = 4;
/** How long a call waits for the new primary after a failover. */
const RECONNECT_WITHIN_MS = 250;

/**
 * The limiter's dedicated Redis connection. Every call carries a nonce that the script echoes: a reply to another call
 * admits no request, and the desynchronized connection is dropped.
 */
export class LimitConnection {
  private readonly prefix = randomBytes(6).toString('base64url');
  private calls = 0;
  private timeouts = 0;
  /** The server executed no call because it is not the primary, and the client reconnects. */
  private isLeaving = false;

  constructor(private readonly redis: Redis) {
    redis.on('ready', () => {
      this.isLeaving = false;
    });
    // The connection retries indefinitely, and the shared one reports the Redis outage.
    redis.on('error', () => undefined);
  }

  /** Calls `listener` whenever Redis is reachable again. */
  onReady(listener: () => void): void {
    this.redis.on('ready', listener);
  }

  /** @throws Error when Redis does not answer within the connection's command timeout, or sends an invalid reply. */
  async run(call: LimitCall): Promise<LimitReply> {
    const nonce = `${this.prefix}${this.calls++}`;
    const text = await this.evaluate(call.keys, call.encode(nonce));
    const reply = readReply(text);
    if (reply === null || reply[0] !== nonce || reply[2].length !== call.requestCount) {
      this.redis.disconnect(true);
      throw new Error('Redis answered a different call');
    }
    return { nowMs: reply[1], results: reply[2] };
  }

  close(): void {
    this.redis.disconnect();
  }

  private async evaluate(keys: readonly string[], payload: string): Promise<unknown> {
    try {
      if (this.isLeaving) await this.untilReady();
      const reply = await this.evaluateOnce(keys, payload).catch(async (error: unknown) => {
        if (!isNotPrimary(error)) throw error;
        await this.untilReady();
        return this.evaluateOnce(keys, payload);
      });
      this.timeouts = 0;
      return reply;
    } catch (error) {
      this.noteFailure(error);
      throw error;
    }
  }

  private async evaluateOnce(keys: readonly string[], payload: string): Promise<unknown> {
    try {
      return await this.redis.evalsha(SCRIPT_SHA, keys.length, ...keys, payload);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return this.redis.eval(LIMIT_SCRIPT, keys.length, ...keys, payload);
    }
  }

  private async untilReady(): Promise<void> {
    await once(this.redis, 'ready', { signal: AbortSignal.timeout(RECONNECT_WITHIN_MS) });
  }

  private noteFailure(error: unknown): void {
    this.isLeaving = isNotPrimary(error);
    const timedOut = error instanceof Error && error.message === 'Command timed out';
    this.timeouts = timedOut ? this.timeouts + 1 : 0;
    if (this.timeouts < MAX_TIMEOUTS) return;
    this.timeouts = 0;
    this.redis.disconnect(true);
  }
}

/** `[nonce, now, results]`; `null` for anything else. Lua has one kind of table, so no results read as an object. */
function readReply(text: unknown): readonly [string, number, readonly (readonly number[])[]] | null {
  if (typeof text !== 'string') return null;
  let reply: unknown;
  try {
    reply = JSON.parse(text);
  } catch {
    return null;
  }
  if (!Array.isArray(reply) || typeof reply[0] !== 'string' || typeof reply[1] !== 'number') return null;
  return [reply[0], reply[1], Array.isArray(reply[2]) ? reply[2] : []];
}
