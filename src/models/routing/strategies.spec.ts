import { DeploymentHealth } from './deployment-health';
import { isFixedOrder, orderBy, type Choice, type Strategy, type StrategyContext } from './strategies';

interface Option extends Choice {
  readonly cost: bigint | null;
}

const option = (id: string, priority: number, weight = 1, cost: bigint | null = 0n): Option => ({
  deployment: { priority, weight },
  health: new DeploymentHealth(id),
  cost,
});
const context: StrategyContext<Option> = {
  streamed: false,
  nowMs: 0,
  costOf: ({ cost }) => cost,
  random: () => 0.5,
};
const order = (strategy: Strategy, options: readonly Option[], overrides: Partial<typeof context> = {}): string =>
  orderBy(strategy, options, { ...context, ...overrides })
    .map(({ health }) => health.id)
    .join(' ');

/** How often each is first in `rounds` rounds with evenly spread random numbers. */
function firsts(strategy: Strategy, options: readonly Option[], rounds: number): Map<string, number> {
  let state = 1;
  const random = (): number => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
  const counts = new Map<string, number>();
  for (let round = 0; round < rounds; round++) {
    const [first = ''] = order(strategy, options, { random }).split(' ');
    counts.set(first, (counts.get(first) ?? 0) + 1);
  }
  return counts;
}

describe('priority', () => {
  it('puts the lowest number first', () => {
    expect(order('priority', [option('a', 2), option('b', 0), option('c', 1)])).toBe('b c a');
  });

  it('spreads equals by their weights', () => {
    const counts = firsts('priority', [option('a', 0, 3), option('b', 0, 1), option('c', 1, 100)], 4_000);
    expect(counts.get('c')).toBeUndefined();
    expect((counts.get('a') ?? 0) / 4_000).toBeCloseTo(0.75, 1);
  });

  it('is a fixed order only without equal priorities', () => {
    expect(isFixedOrder([option('a', 0), option('b', 1)])).toBe(true);
    expect(isFixedOrder([option('a', 0), option('b', 0)])).toBe(false);
  });
});

it('weighted orders by weight regardless of priority', () => {
  const counts = firsts('weighted', [option('a', 0, 1), option('b', 1, 4)], 5_000);
  expect((counts.get('b') ?? 0) / 5_000).toBeCloseTo(0.8, 1);
});

it('price puts the lowest cost first and deployments without a price last', () => {
  const options = [option('a', 0, 1, 30n), option('b', 0, 1, null), option('c', 0, 1, 10n)];
  expect(order('price', options)).toBe('c a b');
});

describe('speed', () => {
  const measured = (id: string, replyMs: number, bytesPerSecond: number): Option => {
    const made = option(id, 0);
    made.health.speed.replyMs.add(replyMs, 0);
    made.health.speed.firstTokenMs.add(1_000 - replyMs, 0);
    made.health.speed.bytesPerSecond.add(bytesPerSecond, 0);
    return made;
  };
  const options = [measured('a', 300, 50), measured('b', 100, 10), measured('c', 200, 90)];

  it('latency puts the fastest first: by whole response, or by first token for streams', () => {
    expect(order('latency', options)).toBe('b c a');
    expect(order('latency', options, { streamed: true })).toBe('a c b');
  });

  it('throughput puts the highest output rate first', () => {
    expect(order('throughput', options)).toBe('c a b');
  });

  it('puts an unmeasured deployment first, unless it has a call in flight', () => {
    const unmeasured = option('new', 0);
    expect(order('latency', [...options, unmeasured])).toBe('new b c a');
    unmeasured.health.inFlight = 1;
    expect(order('latency', [...options, unmeasured])).toBe('b c a new');
  });
});
