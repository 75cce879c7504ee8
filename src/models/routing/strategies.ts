import type { DeploymentHealth } from './deployment-health';
import type { Estimate } from './deployment-health';

/** How to order the deployments of a model; `smart` is not part of this build. */
export type Strategy = 'priority' | 'price' | 'latency' | 'throughput' | 'weighted';

/** The input of strategies. */
export interface Choice {
  readonly deployment: { readonly priority: number; readonly weight: number };
  readonly health: DeploymentHealth;
}

export interface StrategyContext<Option extends Choice> {
  readonly streamed: boolean;
  /** Monotonic milliseconds. */
  readonly nowMs: number;
  /** The estimated cost of the request; `null`: no price, sorted last. */
  costOf(option: Option): bigint | null;
  /** From 0, inclusive, to 1. */
  random(): number;
}

/** The options in the order to try them. Equals are ordered randomly by weight, so that load spreads. */
export function orderBy<Option extends Choice>(
  strategy: Strategy,
  options: readonly Option[],
  context: StrategyContext<Option>,
): readonly Option[] {
  if (options.length < 2) return options;
  const shuffled = byWeight(options, context.random);
  switch (strategy) {
    case 'weighted':
      return shuffled;
    case 'priority':
      return shuffled.toSorted((left, right) => left.deployment.priority - right.deployment.priority);
    case 'price':
      return byPrice(shuffled, context);
    case 'latency': {
      const { streamed, nowMs } = context;
      return bySpeed(shuffled, nowMs, ({ speed }) => (streamed ? speed.firstTokenMs : speed.replyMs), 'least');
    }
    case 'throughput':
      return bySpeed(shuffled, context.nowMs, ({ speed }) => speed.bytesPerSecond, 'most');
  }
}

/** Whether the order by priority is the same for every request, that is, all priorities differ. */
export function isFixedOrder(options: readonly Choice[]): boolean {
  return new Set(options.map(({ deployment }) => deployment.priority)).size === options.length;
}

/**
 * A random order in which each option is first in proportion to its weight, and likewise among the rest: sorted by
 * exponential variables whose rates are the weights.
 */
function byWeight<Option extends Choice>(options: readonly Option[], random: () => number): readonly Option[] {
  return options
    .map((option) => ({ option, key: -Math.log(1 - random()) / option.deployment.weight }))
    .toSorted((left, right) => left.key - right.key)
    .map(({ option }) => option);
}

function byPrice<Option extends Choice>(
  options: readonly Option[],
  { costOf }: StrategyContext<Option>,
): readonly Option[] {
  return options
    .map((option) => ({ option, cost: costOf(option) }))
    .toSorted((left, right) => compareCost(left.cost, right.cost))
    .map(({ option }) => option);
}

function compareCost(left: bigint | null, right: bigint | null): number {
  if (left === right) return 0;
  if (left === null) return 1;
  if (right === null) return -1;
  return left < right ? -1 : 1;
}

/**
 * The fastest first. An option without a recent measurement goes first while it has no call in flight, so that it gets
 * measured, and last while it has one, so that requests do not pile up on a slow deployment.
 */
function bySpeed<Option extends Choice>(
  options: readonly Option[],
  nowMs: number,
  estimateOf: (health: DeploymentHealth) => Estimate,
  best: 'least' | 'most',
): readonly Option[] {
  const sign = best === 'least' ? 1 : -1;
  const rank = ({ health }: Option): number => {
    const value = estimateOf(health).at(nowMs);
    if (value !== null) return sign * value;
    return health.inFlight === 0 ? -Infinity : Infinity;
  };
  return options
    .map((option) => ({ option, rank: rank(option) }))
    .toSorted((left, right) => (left.rank === right.rank ? 0 : left.rank - right.rank))
    .map(({ option }) => option);
}
