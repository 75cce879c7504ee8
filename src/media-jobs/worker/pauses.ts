import type { JobCapabilities } from '../../providers/contract/media-job';

const GROWTH = 1.5;
/** Spreads jobs that were started together. */
const JITTER = 0.1;
/** Upper limit for a provider's `Retry-After`, because the job may end earlier. */
const LONGEST_ASKED_MS = 600_000;

/**
 * The pause before the next poll, in milliseconds. Grows with each poll within the provider's limits.
 * @param askedMs the pause that the provider requests; used from its shortest pause up to ten minutes
 */
export function pollPauseMs(
  { pollMs: [first, most] }: JobCapabilities,
  polls: number,
  askedMs?: number,
  random = Math.random,
): number {
  if (askedMs !== undefined && askedMs >= first) return Math.min(askedMs, LONGEST_ASKED_MS);
  return jittered(grown(first, most, polls), random);
}

/** The pause before the next submission: from one second to one minute. */
export function submitPauseMs(attempts: number, askedSeconds: number | undefined, random = Math.random): number {
  if (askedSeconds !== undefined) return jittered(Math.min(askedSeconds * 1_000, LONGEST_ASKED_MS), random);
  return jittered(grown(1_000, 60_000, attempts), random);
}

/**
 * The pause before a result is fetched and stored again, in milliseconds: half of the time since the first attempt, so
 * that each pause is half as long again as the last, up to one minute.
 */
export function repairPauseMs(leastMs: number, sinceFirstMs: number): number {
  return Math.min(60_000, Math.max(leastMs, sinceFirstMs / 2));
}

/** The pause of a step that found no free slot or memory, in milliseconds. */
export function noRoomPauseMs(random = Math.random): number {
  return 500 + 1_000 * random();
}

function grown(first: number, most: number, steps: number): number {
  return Math.min(most, first * GROWTH ** Math.min(steps, 100));
}

function jittered(pauseMs: number, random: () => number): number {
  return pauseMs * (1 - JITTER + 2 * JITTER * random());
}
