import type { Mode } from '#bench/options';
import type { Phase, Round, TargetRound } from '#bench/measure';
import { median, round } from '#bench/statistics';

/** Medians over the rounds of one mode; ratios and differences are taken within a round, before the median. */
export interface ModeReport {
  /** CPU time per request of the subject divided by that of the forwarder. */
  readonly cpuRatio: number;
  readonly cpuRatioByRound: readonly number[];
  /** The same in the open loop, where both do the same work in the same time; coarse when that work is small. */
  readonly cpuRatioAtFixedRate: number;
  /**
   * Requests per second of the subject divided by those of the forwarder; with two cores for all processes it means
   * little.
   */
  readonly throughputRatio: number;
  readonly addedP50Ms: number;
  readonly addedP99Ms: number;
  readonly addedP99MsByRound: readonly number[];
  readonly addedFirstByteP50Ms: number;
  readonly addedFirstByteP99Ms: number;
  readonly floor: TargetReport;
  readonly subject: TargetReport;
}

export interface TargetReport {
  readonly requestsPerSecond: number;
  /** By process, in the closed loop. */
  readonly cpuMicrosPerRequest: Readonly<Record<string, number>>;
  /** By process, at the fixed arrival rate, where batches are smaller. */
  readonly cpuMicrosPerRequestAtFixedRate: Readonly<Record<string, number>>;
  readonly closedP50Ms: number;
  readonly closedP99Ms: number;
  readonly openP50Ms: number;
  readonly openP99Ms: number;
  readonly openFirstByteP50Ms: number;
  readonly openFirstByteP99Ms: number;
  /** Lateness of the load generator itself. */
  readonly sendLagP99Ms: number;
  /** Read calls of the target itself, all its connections together. */
  readonly readsPerRequest: number;
}

export function reportMode(rounds: readonly Round[], floorName: string, subjectName: string): ModeReport {
  const over = (pick: (round: Round) => number): number => round(median(rounds.map(pick)));
  const cpuRatiosIn = (phase: 'closed' | 'open'): number[] =>
    rounds.map(
      ({ floor, subject }) => cpuOf(subject[phase], subjectName) / Math.max(1, cpuOf(floor[phase], floorName)),
    );
  const cpuRatios = cpuRatiosIn('closed');
  return {
    cpuRatio: round(median(cpuRatios)),
    cpuRatioByRound: cpuRatios.map(round),
    cpuRatioAtFixedRate: round(median(cpuRatiosIn('open'))),
    throughputRatio: over(({ floor, subject }) => subject.closed.requestsPerSecond / floor.closed.requestsPerSecond),
    addedP50Ms: over(({ floor, subject }) => subject.open.totalMs.p50 - floor.open.totalMs.p50),
    addedP99Ms: over(({ floor, subject }) => subject.open.totalMs.p99 - floor.open.totalMs.p99),
    addedP99MsByRound: rounds.map(({ floor, subject }) => round(subject.open.totalMs.p99 - floor.open.totalMs.p99)),
    addedFirstByteP50Ms: over(({ floor, subject }) => subject.open.firstByteMs.p50 - floor.open.firstByteMs.p50),
    addedFirstByteP99Ms: over(({ floor, subject }) => subject.open.firstByteMs.p99 - floor.open.firstByteMs.p99),
    floor: reportTarget(rounds.map(({ floor }) => floor)),
    subject: reportTarget(rounds.map(({ subject }) => subject)),
  };
}

function cpuOf(phase: Phase, name: string): number {
  return phase.cpuMicrosPerRequest[name] ?? 0;
}

function reportTarget(rounds: readonly TargetRound[]): TargetReport {
  const over = (pick: (target: TargetRound) => number): number => round(median(rounds.map(pick)));
  const cpu = (phase: 'closed' | 'open'): Record<string, number> => {
    const names = Object.keys(rounds[0]?.[phase].cpuMicrosPerRequest ?? {});
    return Object.fromEntries(
      names.map((name) => [name, over((target) => target[phase].cpuMicrosPerRequest[name] ?? 0)]),
    );
  };
  return {
    requestsPerSecond: over(({ closed }) => closed.requestsPerSecond),
    cpuMicrosPerRequest: cpu('closed'),
    cpuMicrosPerRequestAtFixedRate: cpu('open'),
    closedP50Ms: over(({ closed }) => closed.totalMs.p50),
    closedP99Ms: over(({ closed }) => closed.totalMs.p99),
    openP50Ms: over(({ open }) => open.totalMs.p50),
    openP99Ms: over(({ open }) => open.totalMs.p99),
    openFirstByteP50Ms: over(({ open }) => open.firstByteMs.p50),
    openFirstByteP99Ms: over(({ open }) => open.firstByteMs.p99),
    sendLagP99Ms: over(({ open }) => open.sendLagMs.p99),
    readsPerRequest: over(({ closed }) => closed.readsPerRequest),
  };
}

/** A short summary; the JSON has the rest. */
export function describeMode(mode: Mode, perSecond: number, report: ModeReport): string {
  const { floor, subject } = report;
  const forwarder = floor.cpuMicrosPerRequest['forwarder'];
  const cpu = Object.entries({ ...subject.cpuMicrosPerRequest, forwarder })
    .map(([name, micros]) => `${name} ${micros}`)
    .join(', ');
  return [
    `${mode}`,
    `  cpu per request     ${report.cpuRatio} x the forwarder   (by round: ${report.cpuRatioByRound.join(', ')})`,
    `  cpu at ${perSecond} rps      ${report.cpuRatioAtFixedRate} x`,
    `  microseconds        ${cpu}`,
    `  requests/s          ${subject.requestsPerSecond}   (forwarder ${floor.requestsPerSecond})`,
    `  added at ${perSecond} rps    p50 ${report.addedP50Ms} ms, p99 ${report.addedP99Ms} ms`,
    `  added to 1st byte   p50 ${report.addedFirstByteP50Ms} ms, p99 ${report.addedFirstByteP99Ms} ms`,
    `  reads per request   ${subject.readsPerRequest}   (forwarder ${floor.readsPerRequest})`,
  ].join('\n');
}
