import { readMemory } from '#bench/cpu';
import { type Bench, openJob, runPhase } from '#bench/measure';
import { round, slope } from '#bench/statistics';

export interface SoakResult {
  readonly minutes: number;
  readonly perSecond: number;
  readonly requests: number;
  readonly errors: number;
  readonly errorSamples: readonly string[];
  /** Resident memory of the gateway every few seconds, MiB. */
  readonly rssMiB: readonly number[];
  readonly peakMiB: number;
  /** Growth over the second half, when caches and compiled code have settled: MiB per minute. */
  readonly slopeMiBPerMinute: number;
  readonly totalMs: { readonly p50: number; readonly p99: number; readonly max: number };
}

const SAMPLES = 120;

/** Loads the subject at a fixed rate and watches its memory. */
export async function soak(bench: Bench): Promise<SoakResult> {
  const { options, subject } = bench;
  const mode = options.modes[0];
  if (!options.soak || !mode) throw new Error('no soak was asked for');
  const { minutes, perSecond } = options.soak;
  const intervalMs = Math.max(1_000, (minutes * 60_000) / SAMPLES);
  const startMs = performance.now();
  const points: { x: number; y: number }[] = [];
  const sample = (): void => {
    const point = { x: (performance.now() - startMs) / 60_000, y: readMemory(subject.pid).rssMiB };
    points.push(point);
    if (points.length % 10 === 1) bench.say(`soak: minute ${point.x.toFixed(1)}, RSS ${round(point.y)} MiB`);
  };
  sample();
  const sampling = setInterval(sample, intervalMs);
  const phaseOptions = { ...options, arrivals: { ...options.arrivals, [mode]: perSecond } };
  const phase = await runPhase(bench, subject, openJob(phaseOptions, subject, mode, minutes * 60_000)).finally(() =>
    clearInterval(sampling),
  );
  return {
    minutes,
    perSecond,
    requests: phase.requests,
    errors: phase.errors,
    errorSamples: phase.errorSamples,
    rssMiB: points.map((point) => round(point.y)),
    peakMiB: round(readMemory(subject.pid).peakMiB),
    slopeMiBPerMinute: round(slope(points.slice(points.length >> 1))),
    totalMs: phase.totalMs,
  };
}
