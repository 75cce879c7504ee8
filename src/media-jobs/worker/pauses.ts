import type { JobCapabilities } from '../../providers/contract/media-job';

const GROWTH = 1.5;
/** So that jobs which began together do not stay together. */
const JITTER = 0.1;
/** A job may have an end earlier than a provider expects. */
const LONGEST_ASKED_MS = 600_000;

/**
 * From one poll to the next, in milliseconds: longer each time, within what the provider is good for.
 * @param askedMs what it asks for, from its shortest pause to ten minutes
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

/** Before a provider is asked again to accept a job: from a second to a minute. */
export function submitPauseMs(turns: number, askedSeconds: number | undefined, random = Math.random): number {
  if (askedSeconds !== undefined) return jittered(Math.min(askedSeconds * 1_000, LONGEST_ASKED_MS), random);
  return jittered(grown(1_000, 60_000, turns), random);
}

function grown(first: number, most: number, steps: number): number {
  return Math.min(most, first * GROWTH ** Math.min(steps, 100));
}

function jittered(pauseMs: number, random: () => number): number {
  return pauseMs * (1 - JITTER + 2 * JITTER * random());
}
