import type { LimitCheck, LimitPlan } from './limit-check';

/** A request that waits for its limit check. */
export interface JudgedRequest {
  /** Its slots' id; no two requests share one. */
  readonly member: string;
  readonly plan: LimitPlan;
  readonly tokens: number;
}

/** The release of a completed request. */
export interface Release {
  readonly member: string;
  readonly plan: LimitPlan;
  /** Redis' time of the admission, which determines the bucket; milliseconds since the epoch. */
  readonly admittedAtMs: number;
  /** Estimated tokens that were not used; negative: used beyond the estimate. */
  readonly unusedTokens: number;
  /** Another node refused the request, so it must not count on this one either. */
  readonly isUndone?: boolean;
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

/** A plan as encoded once per call for all of its requests: concurrent requests mostly have the same plan. */
interface PlanPart {
  /** Position among the plans of the call, from 1. */
  readonly number: number;
  /** `[key, limit, countsTokens, …]` for the script. */
  readonly checks: readonly number[];
  readonly tokenPositions: readonly number[];
  /** One list per slot set; plans that share a set share its list. */
  readonly freed: readonly SlotList[];
  /** Unused tokens by bucket, the same for all token windows of the plan. */
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
  /** Undone requests, which no longer count, as `[key, bucket, amount, …]`. */
  private readonly undone: number[] = [];
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

  /** Whether executing the call twice would return too much capacity. */
  get returnsAmounts(): boolean {
    return this.undone.length > 0 || [...this.parts.values()].some(({ refunds }) => anyPositive(refunds));
  }

  addRelease({ member, plan, admittedAtMs, unusedTokens, isUndone = false }: Release): void {
    const { freed, refunds } = this.partOf(plan);
    for (const list of freed) list.push(member);
    if (isUndone) this.undo(plan, admittedAtMs);
    const [window] = plan.tokenChecks;
    if (unusedTokens === 0 || window === undefined) return;
    const bucket = this.bucketOf(window, admittedAtMs);
    refunds.set(bucket, (refunds.get(bucket) ?? 0) + unusedTokens);
  }

  private undo({ checks }: LimitPlan, admittedAtMs: number): void {
    for (const check of checks) {
      if (check.kind === 'tokens_per_minute' || check.kind === 'concurrency') continue;
      this.undone.push(this.positionOf(check), this.bucketOf(check, admittedAtMs), 1);
    }
  }

  private bucketOf({ windowMs }: LimitCheck, atMs: number): number {
    return Math.floor(atMs / (windowMs / this.bucketsPerWindow));
  }

  addHeld({ redisKey, members }: HeldSlots): void {
    this.held.push([this.position(redisKey, 0), ...members]);
  }

  /** The script's argument. */
  encode(nonce: string): string {
    const parts = [...this.parts.values()];
    const plans = parts.map(({ checks }) => checks);
    const freed = [...this.freed.values()].filter(({ length }) => length > 1);
    const refunds = [...parts.flatMap(refundsOf), ...this.undone];
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

function anyPositive(amounts: ReadonlyMap<number, number>): boolean {
  for (const amount of amounts.values()) if (amount > 0) return true;
  return false;
}

interface SlotHolder {
  readonly member: string;
  readonly slotChecks: readonly LimitCheck[];
}

/** Slots renewed per call: a small batch delays no request. */
const MAX_MEMBERS = 500;

/** The slots of requests in flight, grouped by Redis key, in batches of one call each. */
export function* heldSlots(holders: Iterable<SlotHolder>): Generator<readonly HeldSlots[]> {
  let portion = new Map<string, string[]>();
  let size = 0;
  for (const { member, slotChecks } of holders) {
    for (const { redisKey } of slotChecks) {
      const members = portion.get(redisKey);
      if (members === undefined) portion.set(redisKey, [member]);
      else members.push(member);
      size++;
    }
    if (size < MAX_MEMBERS) continue;
    yield toList(portion);
    portion = new Map();
    size = 0;
  }
  if (size > 0) yield toList(portion);
}

function toList(portion: ReadonlyMap<string, string[]>): HeldSlots[] {
  return [...portion].map(([redisKey, members]) => ({ redisKey, members }));
}
