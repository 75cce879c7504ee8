import type { HeldSlots } from './limit-connection';
import type { LimitCheck } from './limit-check';

interface SlotHolder {
  readonly member: string;
  readonly slotChecks: readonly LimitCheck[];
}

/** Slots renewed per call: a small batch delays no request. */
const MAX_MEMBERS = 500;

/** The slots of requests in flight, grouped by Redis key, in batches of one call each. */
export function* heldSlots(holders: Iterable<SlotHolder>): Generator<readonly HeldSlots[]> {
  let portion = new Map<string, string[]>();
  let size = 0;
  for (const { member, slotChecks } of holders) {
    for (const { redisKey } of slotChecks) {
      const members = portion.get(redisKey);
      if (members === undefined) portion.set(redisKey, [member]);
      else members.push(member);
      size++;
    }
    if (size < MAX_MEMBERS) continue;
    yield toList(portion);
    portion = new Map();
    size = 0;
  }
  if (size > 0) yield toList(portion);
}

function toList(portion: ReadonlyMap<string, string[]>): HeldSlots[] {
  return [...portion].map(([redisKey, members]) => ({ redisKey, members }));
}
