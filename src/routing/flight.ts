import type { ProviderError } from '../providers/contract/provider-error';
import type { DeploymentHealth, ProviderLoad } from './deployment-health';

/** Whoever learns from calls. */
export interface FlightObserver {
  answered(flight: Flight): void;
  succeeded(flight: Flight, outputBytes: number): void;
  failed(flight: Flight, error: ProviderError): void;
}

/**
 * One call to a deployment, which holds a place at its provider until it ends. It must end, by exactly one of `succeed`,
 * `fail` and `abandon`; whatever comes later does nothing.
 */
export class Flight {
  /** Monotonic milliseconds of the first event of a stream; `null`: none yet, or the answer came whole. */
  answeredAtMs: number | null = null;
  private ended = false;

  constructor(
    private readonly observer: FlightObserver,
    readonly health: DeploymentHealth,
    private readonly load: ProviderLoad,
    /** Monotonic milliseconds. */
    readonly startedAtMs: number,
    /** Whether its outcome decides if an open circuit closes. */
    readonly isProbe: boolean,
  ) {
    health.inFlight++;
    if (isProbe) health.isProbed = true;
    load.inFlight++;
  }

  /** A stream has begun: its upstream is alive, whatever becomes of the rest. */
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

  /** Ends a call whose outcome says nothing about the deployment: the client left, or gave it too little time. */
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
