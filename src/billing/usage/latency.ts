/** Number of successful requests by counter (`migrations/functions/usage_latency_sum.sql`); counters of none are absent. */
export type LatencyCounters = ReadonlyMap<number, number>;

export interface Quantiles {
  readonly p50: number;
  readonly p95: number;
}

/** Milliseconds, within 9 % of the exact values; `null` if no request was counted. */
export interface Latency {
  readonly firstToken: Quantiles | null;
  readonly total: Quantiles | null;
}

export const NO_LATENCIES: LatencyCounters = new Map();

/** An element of the database is this times the number of requests, plus the counter. */
const ELEMENT_FACTOR = 256;
const FIRST_TOKEN_COUNTERS = 128;

const EXACT_MS = 32;
const STEPS_PER_DOUBLING = 4;
const DOUBLINGS = 24;
/** Step n begins at bound n - 1, and step 0 is less than a millisecond; the same bounds as in `usage_latency_step`. */
export const STEP_BOUNDS_MS: readonly number[] = [
  ...Array.from({ length: EXACT_MS }, (_, index) => index + 1),
  ...Array.from({ length: STEPS_PER_DOUBLING * (DOUBLINGS - Math.log2(EXACT_MS)) }, (_, index) =>
    Math.round(EXACT_MS * 2 ** ((index + 1) / STEPS_PER_DOUBLING)),
  ),
];

/** @param text elements separated by commas; the same counter may occur several times */
export function readLatencies(text: string): LatencyCounters {
  if (text === '') return NO_LATENCIES;
  const counters = new Map<number, number>();
  for (const element of text.split(',')) {
    const value = Number(element);
    const counter = value % ELEMENT_FACTOR;
    counters.set(counter, (counters.get(counter) ?? 0) + Math.floor(value / ELEMENT_FACTOR));
  }
  return counters;
}

export function sumLatencies(summands: readonly LatencyCounters[]): LatencyCounters {
  const filled = summands.filter(({ size }) => size > 0);
  if (filled.length < 2) return filled[0] ?? NO_LATENCIES;
  const sums = new Map<number, number>();
  for (const counters of filled) {
    for (const [counter, requests] of counters) sums.set(counter, (sums.get(counter) ?? 0) + requests);
  }
  return sums;
}

/** @param part counted in `all`, too */
export function withoutLatencies(all: LatencyCounters, part: LatencyCounters): LatencyCounters {
  const rest = [...all].map(([counter, requests]) => [counter, requests - (part.get(counter) ?? 0)] as const);
  return new Map(rest.filter(([, requests]) => requests > 0));
}

export function latencyOf(counters: LatencyCounters): Latency {
  const steps = [...counters].toSorted(([left], [right]) => left - right);
  return {
    firstToken: quantilesOf(
      steps.flatMap(([counter, requests]) =>
        counter < FIRST_TOKEN_COUNTERS ? [] : [[counter - FIRST_TOKEN_COUNTERS, requests]],
      ),
    ),
    total: quantilesOf(steps.filter(([counter]) => counter < FIRST_TOKEN_COUNTERS)),
  };
}

type StepCount = readonly [step: number, requests: number];

function quantilesOf(steps: readonly StepCount[]): Quantiles | null {
  if (steps.length === 0) return null;
  const total = steps.reduce((sum, [, requests]) => sum + requests, 0);
  return { p50: quantileOf(steps, Math.ceil(total * 0.5)), p95: quantileOf(steps, Math.ceil(total * 0.95)) };
}

/** The duration of the request with this rank, the shortest first. */
function quantileOf(steps: readonly StepCount[], rank: number): number {
  let seen = 0;
  for (const [step, requests] of steps) {
    seen += requests;
    if (seen >= rank) return middleOf(step);
  }
  throw new Error(`No request has rank ${rank} of ${seen}.`);
}

/** The value whose greatest relative error is least: the harmonic mean of the shortest and the longest of the step. */
function middleOf(step: number): number {
  const shortest = STEP_BOUNDS_MS[step - 1] ?? 0;
  const longest = (STEP_BOUNDS_MS[step] ?? shortest + 1) - 1;
  return shortest + longest === 0 ? 0 : Math.round((2 * shortest * longest) / (shortest + longest));
}
