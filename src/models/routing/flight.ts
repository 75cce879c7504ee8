import type { ProviderError } from '../../providers/contract/provider-error';
import type { DeploymentHealth, ProviderLoad } from './deployment-health';

/** Receives the outcome of calls. */
export interface FlightObserver {
  answered(flight: Flight): void;
  succeeded(flight: Flight, outputBytes: number): void;
  failed(flight: Flight, error: ProviderError): void;
}

/**
 * One call to a deployment, which occupies a slot of its provider until it ends. It must be ended by one of `succeed`, `fail`
 * and `abandon`; later calls have no effect.
 */
export class Flight {
  /** Monotonic milliseconds of the first stream event; `null`: none yet, or not a stream. */
  answeredAtMs: number | null = null;
  private ended = false;

  constructor(
    private readonly observer: FlightObserver,
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
