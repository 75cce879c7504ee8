import { setTimeout as delay } from 'node:timers/promises';
import { type MeteredProcess, readCpuMicros, readReadCalls } from '#bench/cpu';
import type { LoadJob, LoadResult } from '#bench/load';
import type { BenchOptions, Mode } from '#bench/options';

/** A program under load: the gateway or the forwarder. */
export interface Target {
  readonly name: string;
  readonly origin: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Required content of each reply. */
  readonly expectedText: string;
  readonly pid: number;
}

export interface Phase extends LoadResult {
  /** Microseconds of CPU time per request, by process. */
  readonly cpuMicrosPerRequest: Readonly<Record<string, number>>;
  /** Read calls of the target per request: about one per chunk when no chunks were merged in transit. */
  readonly readsPerRequest: number;
}

/** One target in one round: the closed loop gives cost and throughput, the open loop gives latency. */
export interface TargetRound {
  readonly closed: Phase;
  readonly open: Phase;
}

/** Both targets of one round, measured right after each other. */
export interface Round {
  readonly floor: TargetRound;
  readonly subject: TargetRound;
}

export interface Bench {
  readonly options: BenchOptions;
  /** The baseline of the comparison. */
  readonly floor: Target;
  readonly subject: Target;
  readonly metered: readonly MeteredProcess[];
  runLoad(job: LoadJob): Promise<LoadResult>;
  say(line: string): void;
}

/** Work after the reply (settlement, usage records) belongs to the request that caused it. */
const AFTERMATH_MS = 400;

/** Warms both up, then measures them one after the other; the order alternates between rounds. */
export async function measure(bench: Bench, mode: Mode): Promise<readonly Round[]> {
  const { options, floor, subject } = bench;
  for (const target of [floor, subject]) {
    await warmUp(bench, target, mode);
    await runPhase(bench, target, openJob(options, target, mode, options.openMs / 5));
  }
  const rounds: Round[] = [];
  for (let index = 0; index < options.rounds; index += 1) {
    rounds.push(await measureRound(bench, mode, index % 2 === 0));
    bench.say(`${mode}: round ${index + 1} of ${options.rounds}`);
  }
  return rounds;
}

/** Measures the same phase of both targets back to back, so that other load on the machine affects both alike. */
async function measureRound(bench: Bench, mode: Mode, floorFirst: boolean): Promise<Round> {
  const { options } = bench;
  const closed = await measureBoth(bench, floorFirst, (target) => closedJob(options, target, mode, options.closedMs));
  const open = await measureBoth(bench, floorFirst, (target) => openJob(options, target, mode, options.openMs));
  return {
    floor: { closed: closed.floor, open: open.floor },
    subject: { closed: closed.subject, open: open.subject },
  };
}

async function measureBoth(
  bench: Bench,
  floorFirst: boolean,
  jobFor: (target: Target) => LoadJob,
): Promise<{ floor: Phase; subject: Phase }> {
  const run = (target: Target): Promise<Phase> => runPhase(bench, target, jobFor(target));
  if (floorFirst) {
    const floor = await run(bench.floor);
    return { floor, subject: await run(bench.subject) };
  }
  const subject = await run(bench.subject);
  return { floor: await run(bench.floor), subject };
}

/** Loads a target in a closed loop before its first round. */
export async function warmUp(bench: Bench, target: Target, mode: Mode): Promise<void> {
  const { durationMs, callers } = bench.options.warmUp[mode];
  await runPhase(bench, target, { ...commonJob(target, mode), durationMs, loop: { kind: 'closed', callers } });
}

/** Runs one load job and measures its cost. */
export async function runPhase(bench: Bench, target: Target, job: LoadJob): Promise<Phase> {
  const before = readCpuMicros(bench.metered);
  const readsBefore = readReadCalls(target.pid);
  const result = await bench.runLoad(job);
  await delay(AFTERMATH_MS);
  const after = readCpuMicros(bench.metered);
  const requests = Math.max(1, result.requests);
  const perRequest = [...after].map(([name, micros]): [string, number] => [
    name,
    (micros - (before.get(name) ?? 0)) / requests,
  ]);
  return {
    ...result,
    cpuMicrosPerRequest: Object.fromEntries(perRequest),
    readsPerRequest: (readReadCalls(target.pid) - readsBefore) / requests,
  };
}

export function closedJob(options: BenchOptions, target: Target, mode: Mode, durationMs: number): LoadJob {
  return { ...commonJob(target, mode), durationMs, loop: { kind: 'closed', callers: options.callers[mode] } };
}

export function openJob(options: BenchOptions, target: Target, mode: Mode, durationMs: number): LoadJob {
  return { ...commonJob(target, mode), durationMs, loop: { kind: 'open', perSecond: options.arrivals[mode] } };
}

function commonJob(target: Target, mode: Mode): Pick<LoadJob, 'origin' | 'headers' | 'expectedText' | 'stream'> {
  const { origin, headers, expectedText } = target;
  return { origin, headers, expectedText, stream: mode === 'stream' };
}
