/**
 * The only source of time, so that tests can control it. `now()` is wall time in milliseconds since the epoch;
 * `monotonic()` is for durations.
 */
export interface Clock {
  now(): number;
  monotonic(): number;
}

/** Injection token of the process-wide clock. */
export const CLOCK = Symbol('Clock');

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};
