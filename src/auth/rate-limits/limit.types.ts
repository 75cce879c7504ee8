/** What the files of this folder exchange. */

export type LimitScope = 'key' | 'organization' | 'model' | 'global';

/** Redis' verdict on one request. */
export interface Verdict {
  /** 0: admitted; n: refused by the n-th check of its plan; -1: a key in Redis cannot be read. */
  readonly refusedBy: number;
  /** Milliseconds until the refusing checks admit it. */
  readonly waitMs: number;
  /** Redis' clock, milliseconds since the epoch. */
  readonly nowMs: number;
  /** In a cluster, whose nodes have clocks of their own: the time of each part of the plan, instead of `nowMs`. */
  readonly partTimesMs?: readonly number[];
  /** For check n, from 0: the remainder at `2n + 2`, milliseconds until all of it is at `2n + 3`. */
  readonly row: readonly number[];
}

/** Slots of requests in flight. */
export interface HeldSlots {
  readonly redisKey: string;
  readonly members: readonly string[];
}
