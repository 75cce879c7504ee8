import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** CPU time and memory from the kernel (`/proc`), so that the measured programs need no instrumentation. Linux only. */
interface ProcessStat {
  readonly pid: number;
  readonly parentPid: number;
  readonly ownTicks: number;
  /** Time of children that have exited and were waited for. */
  readonly reapedTicks: number;
}

/** A process whose time is counted under a name: alone, or with all living and exited descendants. */
export interface MeteredProcess {
  readonly name: string;
  readonly pid: number;
  readonly scope: 'self' | 'tree';
}

export interface Memory {
  readonly rssMiB: number;
  /** The peak since the process started. */
  readonly peakMiB: number;
}

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

/** Microseconds of CPU time so far, by name; processes of one name are added up. */
export function readCpuMicros(metered: readonly MeteredProcess[]): Map<string, number> {
  const table = readProcessTable();
  const micros = new Map<string, number>();
  for (const { name, pid, scope } of metered) {
    const ticks = scope === 'tree' ? treeTicks(table, pid) : (table.get(pid)?.ownTicks ?? 0);
    micros.set(name, (micros.get(name) ?? 0) + (ticks * 1_000_000) / ticksPerSecond);
  }
  return micros;
}

/** Read system calls so far: the number of pieces in which a process read its input. */
export function readReadCalls(pid: number): number {
  return Number(/^syscr: (\d+)$/m.exec(readOwnFile(pid, 'io'))?.[1] ?? 0);
}

export function readMemory(pid: number): Memory {
  const status = readOwnFile(pid, 'status');
  const field = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) / 1024;
  return { rssMiB: field('VmRSS'), peakMiB: field('VmHWM') };
}

/** For processes that must be alive: the figures of a dead process are meaningless. */
function readOwnFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch (error) {
    throw new Error(`process ${pid}, which is being measured, has ended`, { cause: error });
  }
}

function treeTicks(table: ReadonlyMap<number, ProcessStat>, pid: number): number {
  const root = table.get(pid);
  if (!root) return 0;
  let ticks = root.ownTicks + root.reapedTicks;
  for (const entry of table.values()) if (entry.parentPid === pid) ticks += treeTicks(table, entry.pid);
  return ticks;
}

function readProcessTable(): Map<number, ProcessStat> {
  const table = new Map<number, ProcessStat>();
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const stat = readStat(pid);
    if (stat) table.set(pid, stat);
  }
  return table;
}

/**
 * `null` when the process has exited. Fields as in proc(5), counted after the command name, which can contain any
 * character.
 */
function readStat(pid: number): ProcessStat | null {
  let line: string;
  try {
    line = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return null;
  }
  const commandEnd = line.lastIndexOf(')');
  const fields = line.slice(commandEnd + 2).split(' ');
  const number = (index: number): number => Number(fields[index]);
  return {
    pid,
    parentPid: number(1),
    ownTicks: number(11) + number(12),
    reapedTicks: number(13) + number(14),
  };
}
