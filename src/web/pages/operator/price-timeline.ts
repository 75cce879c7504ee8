import type { PriceVersion } from '../../../contract/dashboard';

/**
 * `overridden`: it has begun, but another version applies. `replaced`: there is a later revision with the same start.
 * `withdrawn`: taken back by an operator before it began.
 */
export type PriceState = 'planned' | 'in force' | 'overridden' | 'ended' | 'withdrawn' | 'replaced';

export interface TimelineEntry {
  readonly version: PriceVersion;
  readonly state: PriceState;
}

/** The versions of one scope, the latest start first, each with its state. @param versions of all scopes */
export function timelineOf(
  versions: readonly PriceVersion[],
  deploymentId: string | null,
  nowMs = Date.now(),
): readonly TimelineEntry[] {
  const ofScope = versions
    .filter(({ deployment_id }) => deployment_id === deploymentId)
    .toSorted((one, other) => startOf(other) - startOf(one) || other.revision - one.revision);
  const latest = ofScope.filter((each, at) => at === 0 || startOf(ofScope[at - 1] ?? each) !== startOf(each));
  const inForce = findInForce(latest, nowMs);
  return ofScope
    .map((version, at) => ({
      version,
      state: latest.includes(version) ? stateOf(version, inForce, nowMs) : stateOfEarlier(version, ofScope[at - 1]),
    }))
    .filter(({ version }) => version.price !== null);
}

/** The version that is charged now; of several, an operator's goes before those of the files, then the later start. */
function findInForce(latest: readonly PriceVersion[], nowMs: number): PriceVersion | undefined {
  const begun = latest.filter(
    (version) => version.price !== null && startOf(version) <= nowMs && nowMs < endOf(version),
  );
  return begun.find(({ source }) => source === 'operator') ?? begun[0];
}

function stateOf(version: PriceVersion, inForce: PriceVersion | undefined, nowMs: number): PriceState {
  if (version === inForce) return 'in force';
  if (startOf(version) > nowMs) return 'planned';
  return endOf(version) <= nowMs ? 'ended' : 'overridden';
}

/** A version that has a later revision: withdrawn when that restores what there is without the operator's version. */
function stateOfEarlier({ source }: PriceVersion, next: PriceVersion | undefined): PriceState {
  const isWithdrawn = source === 'operator' && (next?.price === null || next?.source !== 'operator');
  return isWithdrawn ? 'withdrawn' : 'replaced';
}

function startOf({ effective_from }: PriceVersion): number {
  return Date.parse(effective_from);
}

function endOf({ effective_to }: PriceVersion): number {
  return effective_to === null ? Number.POSITIVE_INFINITY : Date.parse(effective_to);
}

const WITHDRAWAL_NOTICE_MS = 60_000;

/** An operator's version can be withdrawn until a minute before it begins. */
export function isWithdrawable({ version, state }: TimelineEntry, nowMs = Date.now()): boolean {
  return state === 'planned' && version.source === 'operator' && startOf(version) - nowMs >= WITHDRAWAL_NOTICE_MS;
}

/** An operator's version can be ended until it has ended. */
export function isEndable({ version, state }: TimelineEntry): boolean {
  return version.source === 'operator' && (state === 'in force' || state === 'overridden' || state === 'planned');
}
