/**
 * `npm run bench`: the cost of the gateway compared with a bare forwarder, with all features on, and a verification of
 * its ledger afterwards. Figures go to standard output as JSON, a short summary to standard error. See README.md here.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startLoadGenerator, startServerScript, stopAll } from '#bench/children';
import { compare, type ComparisonRow, describeComparison } from '#bench/comparison';
import { type Memory, type MeteredProcess, readMemory } from '#bench/cpu';
import { type DatabaseGrowth, growthOf, readDatabaseSize } from '#bench/database';
import { type BenchEnvironment, readEnvironment } from '#bench/environment';
import { checkLedger, type LedgerResult } from '#bench/ledger';
import { type Bench, measure, type Target } from '#bench/measure';
import { type BenchOptions, type Mode, readOptions, USAGE } from '#bench/options';
import { startPeer } from '#bench/peers';
import { describeMode, type ModeReport, reportMode } from '#bench/report';
import { soak, type SoakResult } from '#bench/soak';
import { round } from '#bench/statistics';
import { startSubject, type Subject } from '#bench/subject';

interface BenchResult {
  readonly ok: boolean;
  readonly environment: BenchEnvironment;
  readonly services: Subject['services'];
  readonly ratios: Readonly<Record<string, number>>;
  readonly errors: number;
  readonly errorSamples: readonly string[];
  readonly memoryMiB: { readonly before: number; readonly after: number; readonly peak: number };
  readonly modes: Readonly<Partial<Record<Mode, ModeReport>>>;
  /** By mode and contender, with `--against`. */
  readonly comparison: readonly ComparisonRow[];
  readonly soak: SoakResult | null;
  /** `null` in a self-check. */
  readonly database: DatabaseGrowth | null;
  readonly ledger: LedgerResult | null;
  readonly options: BenchOptions;
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

async function runBench(options: BenchOptions, directory: string): Promise<BenchResult> {
  const environment = readEnvironment(directory);
  const upstream = await startServerScript('upstream.ts', [String(options.chunkGapMs)]);
  const forwarder = await startServerScript('forwarder.ts', [upstream.origin]);
  const subject = await startSubject(options, directory, upstream.origin);
  const peers = await startPeers(options, directory, upstream.origin);
  say(`postgres: ${subject.services.postgres}; redis: ${subject.services.redis}; fsync ${environment.fsyncMs} ms`);
  const load = startLoadGenerator();
  const floor: Target = { name: 'forwarder', headers: {}, expectedText: '', ...forwarder };
  const counts = { errors: 0, answered: 0, samples: new Set<string>() };
  const bench: Bench = {
    options,
    floor,
    subject: subject.target,
    metered: [
      ...[
        floor,
        subject.target,
        ...peers,
        { name: 'upstream', pid: upstream.pid },
        { name: 'load', pid: load.pid },
      ].map(({ name, pid }): MeteredProcess => ({ name, pid, scope: 'self' })),
      ...subject.processes,
    ],
    say,
    async runLoad(job) {
      const result = await load.run(job);
      // Failures of a peer are a figure of the comparison, not of this run.
      const isPeer = peers.some(({ origin }) => origin === job.origin);
      if (!isPeer) counts.errors += result.errors;
      for (const sample of result.errorSamples) counts.samples.add(isPeer ? `of a peer: ${sample}` : sample);
      if (job.origin === subject.target.origin) counts.answered += result.requests - result.errors;
      return result;
    },
  };
  const sizeBefore = subject.gateway ? await readDatabaseSize(subject.databaseUrl) : null;
  const before = readMemory(subject.target.pid);
  const soakResult = options.soak ? await soak(bench) : null;
  const comparison = peers.length > 0 ? await compareWith(bench, subject, peers) : [];
  const modes = options.soak || peers.length > 0 ? {} : await measureModes(bench);
  const after = readMemory(subject.target.pid);
  const database =
    subject.gateway && sizeBefore
      ? growthOf(sizeBefore, await readDatabaseSize(subject.databaseUrl), counts.answered)
      : null;
  const ledger = subject.gateway ? await checkLedger(subject.gateway, subject.databaseUrl, counts.answered) : null;
  return {
    ok: counts.errors === 0 && (ledger?.clean ?? true),
    environment,
    services: subject.services,
    ratios: summarizeRatios(modes),
    errors: counts.errors,
    errorSamples: [...counts.samples].slice(0, 10),
    memoryMiB: describeMemory(before, after),
    modes,
    comparison,
    soak: soakResult,
    database,
    ledger,
    options,
  };
}

/** Those of `--against` that are installed. */
async function startPeers(
  options: BenchOptions,
  directory: string,
  upstreamOrigin: string,
): Promise<readonly Target[]> {
  const peers: Target[] = [];
  for (const choice of options.against) {
    const peer = await startPeer(choice, { directory, upstreamOrigin });
    if (peer === null) say(`${choice.name} is not installed: left out`);
    else peers.push(peer);
  }
  if (options.against.length > 0 && peers.length === 0) throw new Error('none of the other gateways is installed');
  return peers;
}

async function compareWith(
  bench: Bench,
  subject: Subject,
  peers: readonly Target[],
): Promise<readonly ComparisonRow[]> {
  const ours = {
    target: subject.target,
    systemProcesses: [subject.target, ...subject.processes].map(({ name }) => name),
  };
  const theirs = peers.map((target) => ({ target, systemProcesses: [target.name] }));
  const rows = await compare(bench, [ours, ...theirs]);
  say(describeComparison(rows));
  return rows;
}

async function measureModes(bench: Bench): Promise<Partial<Record<Mode, ModeReport>>> {
  const reports: Partial<Record<Mode, ModeReport>> = {};
  for (const mode of bench.options.modes) {
    const report = reportMode(await measure(bench, mode), bench.floor.name, bench.subject.name);
    say(describeMode(mode, bench.options.arrivals[mode], report));
    reports[mode] = report;
  }
  return reports;
}

function describeMemory(before: Memory, after: Memory): BenchResult['memoryMiB'] {
  return { before: round(before.rssMiB), after: round(after.rssMiB), peak: round(after.peakMiB) };
}

/** The figures that have goals, under flat names. */
function summarizeRatios(modes: BenchResult['modes']): Record<string, number> {
  const plain = modes['non-stream'];
  const stream = modes.stream;
  return {
    ...(plain && {
      cpuRatioNonStream: plain.cpuRatio,
      cpuRatioNonStreamAtFixedRate: plain.cpuRatioAtFixedRate,
      addedP50Ms: plain.addedP50Ms,
      addedP99Ms: plain.addedP99Ms,
    }),
    ...(stream && {
      cpuRatioStream: stream.cpuRatio,
      cpuRatioStreamAtFixedRate: stream.cpuRatioAtFixedRate,
      streamAddedP50Ms: stream.addedP50Ms,
      streamAddedP99Ms: stream.addedP99Ms,
      streamAddedFirstByteP50Ms: stream.addedFirstByteP50Ms,
      streamAddedFirstByteP99Ms: stream.addedFirstByteP99Ms,
    }),
  };
}

function sayVerdict({ errors, errorSamples, memoryMiB, soak: soaked, database, ledger, ok }: BenchResult): void {
  say(`gateway RSS         ${memoryMiB.before} MiB before, ${memoryMiB.after} after, ${memoryMiB.peak} at most`);
  if (soaked)
    say(`soak                ${soaked.slopeMiBPerMinute} MiB per minute, p99 ${round(soaked.totalMs.p99)} ms`);
  if (database) say(`database            ${describeGrowth(database)}`);
  say(`errors              ${errors}${errorSamples.length > 0 ? `: ${errorSamples.join(' | ')}` : ''}`);
  if (ledger) {
    say(`ledger              ${ledger.verified ? 'verified' : 'VIOLATED'}, ${ledger.answered} replies x price =`);
    say(`                    ${ledger.expectedMicro} micro expected, ${ledger.chargedMicro} charged`);
  }
  say(ok ? 'ok' : 'FAILED');
}

function describeGrowth({ walBytesPerRequest, diskBytesPerRequest }: DatabaseGrowth): string {
  const tables = Object.entries(diskBytesPerRequest).map(([name, bytes]) => `${name} ${bytes}`);
  return `${walBytesPerRequest} bytes of WAL per request; on disk ${tables.join(', ')}`;
}

/** Stops all processes on Ctrl-C and on termination; `interrupted` is `true` when that caused the bench to fail. */
function stopOnSignals(directory: string): { interrupted: boolean } {
  const state = { interrupted: false };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      state.interrupted = true;
      void stopAll().finally(() => {
        rmSync(directory, { recursive: true, force: true });
        process.exit(130);
      });
    });
  }
  return state;
}

async function main(options: BenchOptions): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
  const state = stopOnSignals(directory);
  let succeeded = false;
  try {
    const result = await runBench(options, directory);
    succeeded = result.ok;
    sayVerdict(result);
    const json = JSON.stringify(result, null, 2);
    process.stdout.write(`${json}\n`);
    if (options.jsonFile !== null) writeFileSync(options.jsonFile, `${json}\n`);
  } catch (error) {
    if (!state.interrupted) console.error(error);
  }
  await stopAll();
  if (state.interrupted) return;
  if (succeeded) {
    rmSync(directory, { recursive: true, force: true });
  } else {
    say(`logs kept in ${directory}`);
    process.exitCode = 1;
  }
}

function optionsOrExit(): BenchOptions {
  try {
    return readOptions(process.argv.slice(2));
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    say(USAGE);
    process.exit(2);
  }
}

const [command, ...rest] = process.argv.slice(2);
if (command === 'translate') {
  const { benchTranslation, TRANSLATE_USAGE } = await import('#bench/translate');
  if (rest.includes('--help')) say(TRANSLATE_USAGE);
  else await benchTranslation(rest);
} else if (process.argv.includes('--help')) say(USAGE);
else await main(optionsOrExit());
