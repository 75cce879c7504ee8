const DAY_MS = 86_400_000;

/** The day after `2026-11-23`. Lists take the end of a range exclusively, readers include its last day. */
export function dayAfter(day: string): string {
  return new Date(Date.parse(day) + DAY_MS).toISOString().slice(0, 10);
}
