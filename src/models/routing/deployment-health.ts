import type { ProviderError } from '../../providers/contract/provider-error';

/** `Retry-After` has a resolution of one second, so equal times may differ by that much. */
const SAME_INSTANT_MS = 1_000;

/** Expected duration of a probe. */
const PROBE_WAIT_MS = 1_000;

/** Weight of the newest sample: roughly the last ten calls count. */
const NEWEST_WEIGHT = 0.2;
/** Older estimates expire and are measured again. */
const LIFETIME_MS = 300_000;

/** The failure of a call that counted against a deployment. */
export interface LastFailure {
  readonly code: string;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
}

/** `probe`: the breaker is open and a probe is due. `unavailable`: must not be called. */
export type Standing = 'ready' | 'probe' | 'unavailable';

/**
 * The state of one deployment in this process: a circuit breaker, and a cool-down requested by the upstream. Passive;
 * `HealthService` changes and shares it. All times are monotonic milliseconds.
 */
export class DeploymentHealth {
  readonly speed = new DeploymentSpeed();
  /** Calls in flight. */
  inFlight = 0;
  /** Whether a probe of this process is in flight. */
  isProbed = false;
  /** Consecutive failures in this process. */
  failures = 0;
  /** For operators only; not used in decisions. */
  lastFailure: LastFailure | null = null;
  /** Stream events that could not be parsed and were skipped. */
  skippedEvents = 0;
  /** Changes of the breaker and the cool-down in this process. */
  changes = 0;
  private lastFailureAtMs = -Infinity;
  private open = false;
  private nextProbeAtMs = -Infinity;
  private coolUntilMs = -Infinity;
  private disturbed = false;

  constructor(readonly id: string) {}

  /** Fast path: neither an open breaker nor a cool-down. */
  get isUndisturbed(): boolean {
    return !this.disturbed;
  }

  get isOpen(): boolean {
    return this.open;
  }

  standing(nowMs: number): Standing {
    if (!this.disturbed) return 'ready';
    if (nowMs < this.coolUntilMs) return 'unavailable';
    if (this.open) return nowMs < this.nextProbeAtMs ? 'unavailable' : 'probe';
    this.disturbed = false;
    return 'ready';
  }

  /** Whether the deployment is unavailable only because of a rate limit. */
  isCoolingDown(nowMs: number): boolean {
    return nowMs < this.coolUntilMs && !this.open;
  }

  /** Milliseconds until the deployment may be called again. */
  waitMs(nowMs: number): number {
    const coolMs = Math.max(0, this.coolUntilMs - nowMs);
    if (!this.open) return coolMs;
    return Math.max(coolMs, this.isProbed ? PROBE_WAIT_MS : this.nextProbeAtMs - nowMs);
  }

  /** Counts a failure. Failures further apart than `windowMs` are not consecutive. */
  countFailure(nowMs: number, windowMs: number): number {
    this.failures = nowMs - this.lastFailureAtMs < windowMs ? this.failures + 1 : 1;
    this.lastFailureAtMs = nowMs;
    return this.failures;
  }

  /** Opens the breaker or keeps it open: no calls before `nextProbeAtMs`, then one probe. */
  trip(nextProbeAtMs: number): void {
    this.changes++;
    this.open = true;
    this.disturbed = true;
    this.nextProbeAtMs = nextProbeAtMs;
    this.failures = 0;
  }

  close(): void {
    this.changes++;
    this.open = false;
    this.failures = 0;
  }

  /** Clears the breaker and the cool-down. */
  reset(): void {
    this.close();
    this.coolUntilMs = -Infinity;
    this.disturbed = false;
  }

  /** @returns whether the cool-down is new; concurrent calls often report the same one. */
  cool(untilMs: number): boolean {
    this.changes++;
    const isNews = untilMs > this.coolUntilMs + SAME_INSTANT_MS;
    this.coolUntilMs = Math.max(this.coolUntilMs, untilMs);
    this.disturbed = true;
    return isNews;
  }
}

/** The calls of this process in flight at one provider, across its deployments. */
export class ProviderLoad {
  inFlight = 0;

  constructor(private readonly limit: number) {}

  get isFull(): boolean {
    return this.inFlight >= this.limit;
  }
}

/** Receives the outcome of calls. */
export interface CallObserver {
  answered(call: DeploymentCall): void;
  succeeded(call: DeploymentCall, outputBytes: number): void;
  failed(call: DeploymentCall, error: ProviderError): void;
}

/**
 * One call to a deployment, which occupies a slot of its provider until it ends. It must be ended by one of `succeed`,
 * `fail` and `abandon`; later calls have no effect.
 */
export class DeploymentCall {
  /** Monotonic milliseconds of the first stream event; `null`: none yet, or not a stream. */
  answeredAtMs: number | null = null;
  private ended = false;

  constructor(
    private readonly observer: CallObserver,
    readonly health: DeploymentHealth,
    private readonly load: ProviderLoad,
    /** Monotonic milliseconds. */
    readonly startedAtMs: number,
    /** Whether its outcome decides if an open breaker closes. */
    readonly isProbe: boolean,
  ) {
    health.inFlight++;
    if (isProbe) health.isProbed = true;
    load.inFlight++;
  }

  /** The stream has begun, which proves that the upstream is alive. */
  answered(): void {
    if (!this.ended) this.observer.answered(this);
  }

  /** @param outputBytes UTF-8 bytes that the model wrote */
  succeed(outputBytes: number): void {
    if (this.end()) this.observer.succeeded(this, outputBytes);
  }

  fail(error: ProviderError): void {
    if (this.end()) this.observer.failed(this, error);
  }

  /** Ends a call that does not affect health: the client disconnected, or its timeout was too short. */
  abandon(): void {
    this.end();
  }

  private end(): boolean {
    if (this.ended) return false;
    this.ended = true;
    this.health.inFlight--;
    if (this.isProbe) this.health.isProbed = false;
    this.load.inFlight--;
    return true;
  }
}

/** A moving average of samples that expires. */
export class Estimate {
  private value = 0;
  private expiresAtMs = -Infinity;

  add(sample: number, nowMs: number): void {
    const known = nowMs < this.expiresAtMs;
    this.value = known ? this.value + NEWEST_WEIGHT * (sample - this.value) : sample;
    this.expiresAtMs = nowMs + LIFETIME_MS;
  }

  /** `null`: unknown or expired. */
  at(nowMs: number): number | null {
    return nowMs < this.expiresAtMs ? this.value : null;
  }
}

/** The recent speed of a deployment in this process. */
class DeploymentSpeed {
  /** Milliseconds from the request to the first event of a stream. */
  readonly firstTokenMs = new Estimate();
  /** Milliseconds from the request to the end of a response that is not streamed. */
  readonly replyMs = new Estimate();
  /** UTF-8 bytes of output per second of writing, which is proportional to tokens for a given model. */
  readonly bytesPerSecond = new Estimate();
}
