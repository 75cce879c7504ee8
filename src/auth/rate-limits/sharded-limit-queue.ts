import type { Metrics } from '../../core/observability/metrics/catalogue';
import { type LimitCheck, type LimitPlan, planOf, type Verdict } from './limit-check';
import type { LimitConnection } from './limit-connection';
import type { HeldSlots, JudgedRequest, Release } from './limit-call';
import { hashTagOf, UNTAGGED } from './limit-keys';
import { LimitQueue } from './limit-queue';

/** The checks of a plan whose keys share a hash tag. */
interface PlanPart {
  readonly tag: string;
  readonly plan: LimitPlan;
  /** Positions of the part's checks in the whole plan. */
  readonly positions: readonly number[];
}

interface ShardedRelease extends Release {
  /** Replaces `admittedAtMs` for a plan of several parts. */
  readonly partTimesMs: readonly number[] | undefined;
}

/**
 * Checks limits in a cluster, where one call reaches only the keys of one hash tag: there is a queue per tag, and the
 * parts of a request are checked in parallel. When one part refuses or fails, the others undo the request with their
 * next call. Until then the request counts, so a limit may refuse a moment too long but is never exceeded.
 */
export class ShardedLimitQueue {
  private readonly queues = new Map<string, LimitQueue>();
  private readonly parts = new WeakMap<LimitPlan, readonly PlanPart[]>();

  constructor(
    private readonly connection: LimitConnection,
    private readonly leaseMs: number,
    private readonly metrics: Metrics,
  ) {}

  /** @throws Error when one of the nodes is unavailable. */
  async judge({ member, plan, tokens }: JudgedRequest): Promise<Verdict> {
    const parts = this.partsOf(plan);
    const [first] = parts;
    if (first !== undefined && parts.length === 1) return this.queueOf(first.tag).judge({ member, plan, tokens });
    const outcomes = await Promise.allSettled(
      parts.map((part) => this.queueOf(part.tag).judge({ member, plan: part.plan, tokens })),
    );
    const isAdmitted = outcomes.every((outcome) => outcome.status === 'fulfilled' && outcome.value.refusedBy === 0);
    if (!isAdmitted) this.undo(parts, outcomes, member, tokens);
    return combine(plan, parts, outcomes.map(valueOf), tokens);
  }

  /** Checks the request in separate calls that count nothing. @throws Error as {@link judge} */
  async look({ member, plan, tokens }: JudgedRequest): Promise<Verdict> {
    const parts = this.partsOf(plan);
    const verdicts = await Promise.all(
      parts.map((part) => this.queueOf(part.tag).look({ member, plan: part.plan, tokens })),
    );
    return combine(plan, parts, verdicts, tokens);
  }

  /** Sent with the next calls; kept while a node is unavailable. */
  release({ member, plan, admittedAtMs, partTimesMs, unusedTokens }: ShardedRelease): void {
    this.partsOf(plan).forEach((part, index) => {
      const { slotChecks, tokenChecks } = part.plan;
      if (slotChecks.length === 0 && (tokenChecks.length === 0 || unusedTokens === 0)) return;
      const atMs = partTimesMs?.[index] ?? admittedAtMs;
      this.queueOf(part.tag).release({ member, plan: part.plan, admittedAtMs: atMs, unusedTokens });
    });
  }

  /** Renews the leases of these slots. @throws Error when one of the nodes is unavailable. */
  async renew(held: readonly HeldSlots[]): Promise<void> {
    const slotsOf = Map.groupBy(held, ({ redisKey }) => hashTagOf(redisKey));
    const renewals = [...slotsOf].map(([tag, slots]) => this.queueOf(tag).renew(slots));
    (await Promise.allSettled(renewals)).forEach(valueOf);
  }

  /** Resolves when no call is in flight and all releases were sent or have failed. */
  async close(): Promise<void> {
    await Promise.all([...this.queues.values()].map((queue) => queue.close()));
  }

  private undo(
    parts: readonly PlanPart[],
    outcomes: readonly PromiseSettledResult<Verdict>[],
    member: string,
    tokens: number,
  ): void {
    outcomes.forEach((outcome, index) => {
      const part = parts[index];
      // The queue of a failed call frees what it may have taken.
      if (part === undefined || outcome.status === 'rejected' || outcome.value.refusedBy !== 0) return;
      const { tag, plan } = part;
      const admittedAtMs = outcome.value.nowMs;
      this.queueOf(tag).release({ member, plan, admittedAtMs, unusedTokens: tokens, isUndone: true });
    });
  }

  private queueOf(tag: string): LimitQueue {
    let queue = this.queues.get(tag);
    if (queue === undefined) {
      queue = new LimitQueue(this.connection, this.leaseMs, this.metrics);
      this.queues.set(tag, queue);
    }
    return queue;
  }

  private partsOf(plan: LimitPlan): readonly PlanPart[] {
    let parts = this.parts.get(plan);
    if (parts === undefined) this.parts.set(plan, (parts = splitByTag(plan)));
    return parts;
  }
}

/** A plan without limits has one part too, so that its requests are also refused while Redis is unavailable. */
function splitByTag(plan: LimitPlan): readonly PlanPart[] {
  const positionsOf = Map.groupBy(plan.checks.keys(), (position) =>
    hashTagOf((plan.checks[position] as LimitCheck).redisKey),
  );
  if (positionsOf.size === 0) return [{ tag: UNTAGGED, plan, positions: [] }];
  return [...positionsOf].map(([tag, positions]) => ({
    tag,
    plan: positionsOf.size === 1 ? plan : planOf(positions.map((position) => plan.checks[position] as LimitCheck)),
    positions,
  }));
}

/** One verdict on the whole plan: admitted by all parts, or refused by the check with the longest wait. */
function combine(
  { checks }: LimitPlan,
  parts: readonly PlanPart[],
  verdicts: readonly Verdict[],
  tokens: number,
): Verdict {
  const isAdmitted = verdicts.every(({ refusedBy }) => refusedBy === 0);
  let refusedBy = 0;
  let waitMs = 0;
  const row = Array.from({ length: 2 + 2 * checks.length }, () => 0);
  verdicts.forEach((verdict, index) => {
    const { positions } = parts[index] as PlanPart;
    if (verdict.refusedBy < 0) refusedBy = -1;
    else if (refusedBy >= 0 && verdict.refusedBy > 0 && verdict.waitMs >= waitMs) {
      refusedBy = (positions[verdict.refusedBy - 1] as number) + 1;
      waitMs = verdict.waitMs;
    }
    // The part has admitted the request, which is being undone.
    const isUndone = !isAdmitted && verdict.refusedBy === 0;
    positions.forEach((position, at) => {
      const cost = checks[position]?.kind === 'tokens_per_minute' ? tokens : 1;
      row[2 * position + 2] = (verdict.row[2 * at + 2] as number) + (isUndone ? cost : 0);
      row[2 * position + 3] = verdict.row[2 * at + 3] as number;
    });
  });
  row[0] = refusedBy;
  row[1] = waitMs;
  const partTimesMs = verdicts.map(({ nowMs }) => nowMs);
  return { refusedBy, waitMs, nowMs: partTimesMs[0] as number, partTimesMs, row };
}

function valueOf<Value>(outcome: PromiseSettledResult<Value>): Value {
  if (outcome.status === 'rejected') throw outcome.reason;
  return outcome.value;
}
