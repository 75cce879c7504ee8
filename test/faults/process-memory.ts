import { readFileSync } from 'node:fs';

/** Resident memory of another process in MiB (Linux). */
export function residentMiB(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) / 1024;
}

/** Peak of a process's resident memory in MiB during an action. */
export async function peakMiB(pid: number, during: () => Promise<unknown>): Promise<number> {
  let peak = residentMiB(pid);
  const timer = setInterval(() => (peak = Math.max(peak, residentMiB(pid))), 10);
  try {
    await during();
  } finally {
    clearInterval(timer);
  }
  return Math.max(peak, residentMiB(pid));
}

/** Peak growth of a process's resident memory in MiB during an action. */
export async function memoryGrowthMiB(pid: number, during: () => Promise<unknown>): Promise<number> {
  const beforeMiB = residentMiB(pid);
  return Math.round((await peakMiB(pid, during)) - beforeMiB);
}
