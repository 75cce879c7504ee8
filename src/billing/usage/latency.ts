/**
 * Elements of `migrations/functions/usage_latency_sum.sql`: one for each counter with requests, in order. A flat list
 * of numbers, because a month of hours by model has 15,000 of them.
 */
export type LatencyCounters = readonly number[];

export interface Quantiles {
  readonly p50: number;
  readonly p95: number;
}

/** Milliseconds, within 9 % of the exact values; `null` if no request was counted. */
export interface Latency {
  readonly firstToken: Quantiles | null;
  readonly total: Quantiles | null;
}

export const NO_LATENCIES: LatencyCounters = [];

/** A database element is this factor times the number of requests, plus the counter. */
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
  const elements = text.split(',').map(Number);
  return isInOrder(elements) ? elements : addUp([elements]);
}

export function sumLatencies(summands: readonly LatencyCounters[]): LatencyCounters {
  const filled = summands.filter(({ length }) => length > 0);
  return filled.length < 2 ? (filled[0] ?? NO_LATENCIES) : addUp(filled);
}

function counterOf(element: number): number {
  return element % ELEMENT_FACTOR;
}

function requestsOf(element: number): number {
  return Math.floor(element / ELEMENT_FACTOR);
}

function isInOrder(elements: readonly number[]): boolean {
  return elements.every(
    (element, index) => index === 0 || counterOf(elements[index - 1] as number) < counterOf(element),
  );
}

function addUp(summands: readonly LatencyCounters[]): LatencyCounters {
  const requests = new Float64Array(ELEMENT_FACTOR);
  for (const elements of summands) {
    for (const element of elements) {
      const counter = counterOf(element);
      requests[counter] = (requests[counter] ?? 0) + requestsOf(element);
    }
  }
  const sums: number[] = [];
  for (const [counter, count] of requests.entries()) if (count > 0) sums.push(count * ELEMENT_FACTOR + counter);
  return sums;
}

export function latencyOf(counters: LatencyCounters): Latency {
  const found = counters.findIndex((element) => counterOf(element) >= FIRST_TOKEN_COUNTERS);
  const end = found === -1 ? counters.length : found;
  return {
    firstToken: quantilesOf(counters, end, counters.length),
    total: quantilesOf(counters, 0, end),
  };
}

/** Quantiles of the counters from `start` to `end`, exclusive. */
function quantilesOf(counters: LatencyCounters, start: number, end: number): Quantiles | null {
  if (start === end) return null;
  let total = 0;
  for (let index = start; index < end; index++) total += requestsOf(counters[index] as number);
  return {
    p50: quantileOf(counters, start, Math.ceil(total * 0.5)),
    p95: quantileOf(counters, start, Math.ceil(total * 0.95)),
  };
}

/** The duration of the request with this rank, where the shortest has the lowest rank. */
function quantileOf(counters: LatencyCounters, start: number, rank: number): number {
  let seen = 0;
  for (let index = start; index < counters.length; index++) {
    const element = counters[index] as number;
    seen += requestsOf(element);
    if (seen >= rank) return middleOf(counterOf(element) % FIRST_TOKEN_COUNTERS);
  }
  throw new Error(`No request has rank ${rank} of ${seen}.`);
}

/** The value with the smallest maximum relative error: the harmonic mean of the step's bounds. */
function middleOf(step: number): number {
  const shortest = STEP_BOUNDS_MS[step - 1] ?? 0;
  const longest = (STEP_BOUNDS_MS[step] ?? shortest + 1) - 1;
  return shortest + longest === 0 ? 0 : Math.round((2 * shortest * longest) / (shortest + longest));
}
