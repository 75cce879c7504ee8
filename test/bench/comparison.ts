/**
 * `--against`: our gateway and others under the same load, one after the other in every round. Only the closed loop
 * runs, because a fixed arrival rate that one of them cannot serve would measure its queue.
 */
import { readMemory } from '#bench/cpu';
import { type Bench, closedJob, type Phase, runPhase, type Target, warmUp } from '#bench/measure';
import type { Mode } from '#bench/options';
import { median, round } from '#bench/statistics';

/** A target and the servers that work for it. */
export interface Contender {
  readonly target: Target;
  /** Names of metered processes: its own and those of its databases. */
  readonly systemProcesses: readonly string[];
}

/** Medians over the rounds. */
export interface ComparisonRow {
  readonly mode: Mode;
  readonly name: string;
  readonly cpuMicrosPerRequest: number;
  /** The gateway together with its databases. */
  readonly systemCpuMicrosPerRequest: number;
  /** Our CPU time divided by that of this contender, within a round. Below 1: ours is cheaper. */
  readonly cpuRatio: number;
  /** Our CPU time, databases included, divided by that of this contender with its own. */
  readonly systemCpuRatio: number;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly rssMiB: number;
  /** Over all rounds. */
  readonly failures: number;
}

interface Sample {
  readonly phase: Phase;
  readonly cpuMicros: number;
  readonly systemCpuMicros: number;
  readonly rssMiB: number;
}

/** @param contenders ours first */
export async function compare(bench: Bench, contenders: readonly Contender[]): Promise<readonly ComparisonRow[]> {
  const rows: ComparisonRow[] = [];
  for (const mode of bench.options.modes) {
    for (const { target } of contenders) {
      await warmUp(bench, target, mode);
    }
    const rounds: (readonly Sample[])[] = [];
    for (let index = 0; index < bench.options.rounds; index += 1) {
      rounds.push(await compareOnce(bench, mode, contenders, index));
      bench.say(`${mode}: round ${index + 1} of ${bench.options.rounds}`);
    }
    rows.push(...contenders.map(({ target }, index) => toRow(mode, target.name, index, rounds)));
  }
  return rows;
}

/** Starts with another contender each time, so that none always follows the same one. */
async function compareOnce(
  bench: Bench,
  mode: Mode,
  contenders: readonly Contender[],
  roundIndex: number,
): Promise<readonly Sample[]> {
  const samples: Sample[] = [];
  for (let step = 0; step < contenders.length; step += 1) {
    const index = (roundIndex + step) % contenders.length;
    const contender = contenders[index];
    if (contender) samples[index] = await sampleOf(bench, mode, contender);
  }
  return samples;
}

async function sampleOf(bench: Bench, mode: Mode, { target, systemProcesses }: Contender): Promise<Sample> {
  const phase = await runPhase(bench, target, closedJob(bench.options, target, mode, bench.options.closedMs));
  const cpuOf = (name: string): number => phase.cpuMicrosPerRequest[name] ?? 0;
  return {
    phase,
    cpuMicros: cpuOf(target.name),
    systemCpuMicros: systemProcesses.reduce((sum, name) => sum + cpuOf(name), 0),
    rssMiB: readMemory(target.pid).rssMiB,
  };
}

function toRow(mode: Mode, name: string, index: number, rounds: readonly (readonly Sample[])[]): ComparisonRow {
  const pairs = rounds.flatMap((samples) => {
    const ours = samples[0];
    const theirs = samples[index];
    return ours && theirs ? [{ ours, theirs }] : [];
  });
  const over = (pick: (pair: { ours: Sample; theirs: Sample }) => number): number => round(median(pairs.map(pick)));
  return {
    mode,
    name,
    cpuMicrosPerRequest: over(({ theirs }) => theirs.cpuMicros),
    systemCpuMicrosPerRequest: over(({ theirs }) => theirs.systemCpuMicros),
    cpuRatio: over(({ ours, theirs }) => ours.cpuMicros / Math.max(1, theirs.cpuMicros)),
    systemCpuRatio: over(({ ours, theirs }) => ours.systemCpuMicros / Math.max(1, theirs.systemCpuMicros)),
    requestsPerSecond: over(({ theirs }) => theirs.phase.requestsPerSecond),
    p50Ms: over(({ theirs }) => theirs.phase.totalMs.p50),
    p99Ms: over(({ theirs }) => theirs.phase.totalMs.p99),
    rssMiB: over(({ theirs }) => theirs.rssMiB),
    failures: pairs.reduce((sum, { theirs }) => sum + theirs.phase.errors, 0),
  };
}

const COLUMNS: readonly (readonly [title: string, value: (row: ComparisonRow) => string | number])[] = [
  ['gateway', (row) => row.name],
  ['cpu us', (row) => row.cpuMicrosPerRequest],
  ['with db us', (row) => row.systemCpuMicrosPerRequest],
  ['ours / its cpu', (row) => row.cpuRatio],
  ['with db', (row) => row.systemCpuRatio],
  ['req/s', (row) => row.requestsPerSecond],
  ['p50 ms', (row) => row.p50Ms],
  ['p99 ms', (row) => row.p99Ms],
  ['rss MiB', (row) => row.rssMiB],
  ['failures', (row) => row.failures],
];

/** One table per mode. */
export function describeComparison(rows: readonly ComparisonRow[]): string {
  return [...Map.groupBy(rows, (row) => row.mode)].map(([mode, ofMode]) => `${mode}\n${toTable(ofMode)}`).join('\n');
}

function toTable(rows: readonly ComparisonRow[]): string {
  const cells = [COLUMNS.map(([title]) => title), ...rows.map((row) => COLUMNS.map(([, value]) => String(value(row))))];
  const widths = COLUMNS.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)));
  return cells
    .map((line) => `  ${line.map((cell, column) => cell.padStart(widths[column] ?? 0)).join('  ')}`)
    .join('\n');
}
