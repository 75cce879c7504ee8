import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { round, summarize } from '#bench/statistics';

/** The environment that the figures depend on. */
export interface BenchEnvironment {
  readonly node: string;
  readonly processor: string;
  readonly cores: number;
  readonly loadAverage: number;
  /** Median time to make 8 KiB durable where PostgreSQL keeps its data. Near zero: this disk does not really sync. */
  readonly fsyncMs: number;
}

const FSYNC_TRIALS = 50;

export function readEnvironment(directory: string): BenchEnvironment {
  return {
    node: process.version,
    processor: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    loadAverage: round(loadavg()[0] ?? 0),
    fsyncMs: round(measureFsync(join(directory, 'fsync-probe'))),
  };
}

function measureFsync(file: string): number {
  const block = Buffer.alloc(8192, 1);
  const descriptor = openSync(file, 'w');
  const trials = Array.from({ length: FSYNC_TRIALS }, () => {
    const startMs = performance.now();
    writeSync(descriptor, block);
    fsyncSync(descriptor);
    return performance.now() - startMs;
  });
  closeSync(descriptor);
  return summarize(trials).p50;
}
