import { DeploymentSpeed } from './deployment-speed';

/** `Retry-After` counts seconds, so that the same instant seems to move by as much. */
const SAME_INSTANT_MS = 1_000;

/** By then a probe has usually told whether the deployment is well. */
const PROBE_WAIT_MS = 1_000;

/** The failure of a call that counted against a deployment. */
export interface LastFailure {
  readonly code: string;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
}

/** `probe`: it has failed, and it is time to see whether it is well again. `away`: not to be called. */
export type Standing = 'ready' | 'probe' | 'away';

/**
 * What this process knows of one deployment: a circuit breaker, and a pause that the upstream has asked for. A table of
 * states; who changes it, and who is told, is up to `HealthService`. All times are monotonic milliseconds.
 */
export class DeploymentHealth {
  readonly speed = new DeploymentSpeed();
  /** Calls in flight. */
  inFlight = 0;
  /** Whether a call of this process is finding out if an open circuit may close. */
  isProbed = false;
  /** Failures in a row, of this process. */
  failures = 0;
  /** For operators; nothing is decided by it. */
  lastFailure: LastFailure | null = null;
  private lastFailureAtMs = -Infinity;
  private open = false;
  private nextProbeAtMs = -Infinity;
  private coolUntilMs = -Infinity;
  private disturbed = false;

  constructor(readonly id: string) {}

  /** Whether nothing at all is held against it: all that a request asks on an ordinary day. */
  get isUndisturbed(): boolean {
    return !this.disturbed;
  }

  get isOpen(): boolean {
    return this.open;
  }

  standing(nowMs: number): Standing {
    if (!this.disturbed) return 'ready';
    if (nowMs < this.coolUntilMs) return 'away';
    if (this.open) return nowMs < this.nextProbeAtMs ? 'away' : 'probe';
    this.disturbed = false;
    return 'ready';
  }

  /** Whether its upstream's rate limit is what keeps it away. */
  isResting(nowMs: number): boolean {
    return nowMs < this.coolUntilMs && !this.open;
  }

  /** Milliseconds until it may be called again. */
  waitMs(nowMs: number): number {
    const coolMs = Math.max(0, this.coolUntilMs - nowMs);
    if (!this.open) return coolMs;
    return Math.max(coolMs, this.isProbed ? PROBE_WAIT_MS : this.nextProbeAtMs - nowMs);
  }

  /** Counts a failure. Failures that are further apart than `windowMs` do not belong together. */
  countFailure(nowMs: number, windowMs: number): number {
    this.failures = nowMs - this.lastFailureAtMs < windowMs ? this.failures + 1 : 1;
    this.lastFailureAtMs = nowMs;
    return this.failures;
  }

  /** Opens the circuit, or keeps it open: nobody calls before `nextProbeAtMs`, and then one call tries. */
  trip(nextProbeAtMs: number): void {
    this.open = true;
    this.disturbed = true;
    this.nextProbeAtMs = nextProbeAtMs;
    this.failures = 0;
  }

  close(): void {
    this.open = false;
    this.failures = 0;
  }

  /** Forgets whatever is held against it, a rest included. */
  reset(): void {
    this.close();
    this.coolUntilMs = -Infinity;
    this.disturbed = false;
  }

  /** @returns whether that is news: many calls are refused at once, and all of them say the same. */
  cool(untilMs: number): boolean {
    const isNews = untilMs > this.coolUntilMs + SAME_INSTANT_MS;
    this.coolUntilMs = Math.max(this.coolUntilMs, untilMs);
    this.disturbed = true;
    return isNews;
  }
}

/** The calls in flight at one provider, over all of its deployments: its share of this process. */
export class ProviderLoad {
  inFlight = 0;

  constructor(private readonly limit: number) {}

  get isFull(): boolean {
    return this.inFlight >= this.limit;
  }
}
