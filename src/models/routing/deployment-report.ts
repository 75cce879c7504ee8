import type { DeploymentHealth, LastFailure } from './deployment-health';
import type { HealthNews } from './health-sharing';

/** `open`: the circuit breaker is open; `cooling_down`: after a rate limit. */
export type BreakerState = 'closed' | 'open' | 'cooling_down';

/** The health of a deployment for operators. Speeds and counts are those of this process. */
export interface DeploymentReport {
  readonly deploymentId: string;
  /** The state in this process. */
  readonly state: BreakerState;
  /** Milliseconds until it may be called again; 0: now. */
  readonly waitMs: number;
  /** The state shared through Redis; `null`: Redis did not answer. */
  readonly sharedState: BreakerState | null;
  readonly failures: number;
  readonly inFlight: number;
  readonly lastFailure: LastFailure | null;
  readonly skippedEvents: number;
  /** Moving averages; `null`: unknown or expired. */
  readonly firstTokenMs: number | null;
  readonly replyMs: number | null;
  readonly bytesPerSecond: number | null;
}

/** @param shared `null`: Redis did not answer. */
export function reportOf(
  health: DeploymentHealth,
  shared: readonly HealthNews[] | null,
  nowMs: number,
): DeploymentReport {
  const { id, failures, inFlight, lastFailure, skippedEvents, speed, isOpen } = health;
  return {
    deploymentId: id,
    state: isOpen ? 'open' : health.isCoolingDown(nowMs) ? 'cooling_down' : 'closed',
    waitMs: Math.max(0, health.waitMs(nowMs)),
    sharedState: shared === null ? null : sharedStateOf(id, shared),
    failures,
    inFlight,
    lastFailure,
    skippedEvents,
    firstTokenMs: speed.firstTokenMs.at(nowMs),
    replyMs: speed.replyMs.at(nowMs),
    bytesPerSecond: speed.bytesPerSecond.at(nowMs),
  };
}

function sharedStateOf(id: string, shared: readonly HealthNews[]): BreakerState {
  const kinds = shared.filter(({ deploymentId }) => deploymentId === id).map(({ kind }) => kind);
  return kinds.includes('open') ? 'open' : kinds.includes('cool') ? 'cooling_down' : 'closed';
}
