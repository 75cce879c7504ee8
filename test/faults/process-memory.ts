import { readFileSync } from 'node:fs';

/** Resident memory of another process in MiB (Linux). */
function residentMiB(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) / 1024;
}

/** By how many MiB the resident memory of a process grew at most while something was going on. */
export async function memoryGrowthMiB(pid: number, during: () => Promise<unknown>): Promise<number> {
  const beforeMiB = residentMiB(pid);
  let peakMiB = beforeMiB;
  const timer = setInterval(() => (peakMiB = Math.max(peakMiB, residentMiB(pid))), 10);
  try {
    await during();
  } finally {
    clearInterval(timer);
  }
  return Math.round(Math.max(peakMiB, residentMiB(pid)) - beforeMiB);
}
