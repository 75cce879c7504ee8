import type { DeploymentHealth } from './deployment-health';
import type { Estimate } from './deployment-speed';

/** How to order the deployments of a model; `smart` is not part of this build. */
export type Strategy = 'priority' | 'price' | 'latency' | 'throughput' | 'weighted';

/** What strategies look at. */
export interface Choice {
  readonly deployment: { readonly priority: number; readonly weight: number };
  readonly health: DeploymentHealth;
}

export interface StrategyContext<Option extends Choice> {
  readonly streamed: boolean;
  /** Monotonic milliseconds. */
  readonly nowMs: number;
  /** What the request is expected to cost; `null`: it has no price, and comes last. */
  costOf(option: Option): bigint | null;
  /** From 0, inclusive, to 1. */
  random(): number;
}

/** The options in the order to try them. Equals go by weight and chance, so that load spreads. */
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

/** Whether the order by priority is the same for every request: no two have the same. */
export function isFixedOrder(options: readonly Choice[]): boolean {
  return new Set(options.map(({ deployment }) => deployment.priority)).size === options.length;
}

/**
 * A random order in which each option is first as often as its weight says, and then the same among the rest: the
 * smallest of exponential variables, whose rates are the weights.
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
 * The fastest first. One that has not been measured lately goes before all others while nobody is measuring it, so that
 * it gets known, and after them while somebody is, so that not everybody waits for a slow stranger.
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
