import { LoadGuard } from './load-guard';

const LIMIT = 10;

function createGuard(limit = LIMIT) {
  const state = { inFlight: 0, nowMs: 0 };
  const guard = new LoadGuard(
    limit,
    () => state.inFlight,
    () => state.nowMs,
  );
  /** Samples every 100 ms for a time. Returns whether a new request was turned away in any of them. */
  const pass = (durationMs: number, utilization: number, inFlight: number): boolean => {
    let refused = false;
    state.inFlight = inFlight;
    for (const endMs = state.nowMs + durationMs; state.nowMs < endMs;) {
      state.nowMs += 100;
      guard.observe(state.nowMs, utilization);
      refused ||= guard.overloaded;
    }
    return refused;
  };
  return { guard, state, pass };
}

describe('LoadGuard', () => {
  it('calls it an overload when the event loop had no rest for a second, and more was begun than it needs', () => {
    const { pass } = createGuard();
    expect(pass(1_000, 1, LIMIT + 1)).toBe(false);
    expect(pass(200, 1, LIMIT + 1)).toBe(true);
  });

  it.each([
    ['many requests that wait for providers', 0.97, 5_000],
    ['few requests that keep it busy', 1, LIMIT - 1],
  ])('takes %s for none', (_what, utilization, inFlight) => {
    const { pass } = createGuard();
    expect(pass(60_000, utilization, inFlight)).toBe(false);
  });

  it('takes bursts of less than a second for none, however many there are', () => {
    const { pass } = createGuard();
    for (let burst = 0; burst < 20; burst++) {
      expect(pass(1_000, 1, 1_000)).toBe(false);
      expect(pass(100, 0.5, 0)).toBe(false);
    }
  });

  it('lets a request in for each one that ends, until five seconds have passed without overload', () => {
    const { guard, state, pass } = createGuard();
    pass(2_000, 1, 100);
    state.inFlight = LIMIT;
    expect(guard.overloaded).toBe(false);
    state.inFlight = LIMIT + 1;
    expect(guard.overloaded).toBe(true);
    expect(pass(4_800, 0.5, LIMIT + 1)).toBe(true);
    pass(200, 0.5, LIMIT + 1);
    expect(guard.overloaded).toBe(false);
  });
});
