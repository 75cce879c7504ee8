/** The money rules in the simplest possible form, to compare the SQL functions with. One organization, UTC. */
export interface ModelSettings {
  readonly monthlyLimit: bigint | null;
  readonly keys: readonly { readonly daily: bigint | null; readonly monthly: bigint | null }[];
}

interface Hold {
  readonly amount: bigint;
  readonly key: number;
  readonly day: string;
  state: 'held' | 'settled' | 'released' | 'expired';
  charged: bigint;
  uncollected: bigint;
}

export class MoneyModel {
  balance = 0n;
  readonly holds = new Map<number, Hold>();

  constructor(private readonly settings: ModelSettings) {}

  get reserved(): bigint {
    return this.used((hold) => hold.state === 'held');
  }

  reserve(slot: number, key: number, amount: bigint, day: string): string {
    const known = this.holds.get(slot);
    if (known !== undefined) {
      return known.state === 'held' && known.key === key && known.amount === amount ? 'held' : 'conflict';
    }
    const month = day.slice(0, 7);
    const limits = this.settings.keys[key];
    const inMonth = (hold: Hold): boolean => hold.day.startsWith(month);
    const exceeds = (limit: bigint | null | undefined, counts: (hold: Hold) => boolean): boolean =>
      limit !== null && limit !== undefined && this.used(counts) + amount > limit;
    if (exceeds(limits?.daily, (hold) => hold.key === key && hold.day === day)) return 'key_daily_budget';
    if (exceeds(limits?.monthly, (hold) => hold.key === key && inMonth(hold))) return 'key_monthly_budget';
    if (exceeds(this.settings.monthlyLimit, inMonth)) return 'organization_monthly_limit';
    if (this.reserved + amount > this.balance) return 'insufficient_balance';
    this.holds.set(slot, { amount, key, day, state: 'held', charged: 0n, uncollected: 0n });
    return 'held';
  }

  finish(slot: number, outcome: 'settled' | 'released' | 'expired', actual: bigint): string {
    const hold = this.holds.get(slot);
    if (hold === undefined) return 'missing,0,0';
    if (hold.state !== 'held') {
      return `${hold.state},${hold.charged},${hold.uncollected}`;
    }
    const free = this.balance - this.reserved;
    const wanted = outcome === 'settled' ? actual : 0n;
    hold.charged = wanted < hold.amount + free ? wanted : hold.amount + free;
    hold.uncollected = wanted - hold.charged;
    hold.state = outcome;
    this.balance -= hold.charged;
    return `applied,${hold.charged},${hold.uncollected}`;
  }

  private used(counts: (hold: Hold) => boolean): bigint {
    let total = 0n;
    for (const hold of this.holds.values()) {
      if (counts(hold)) total += hold.state === 'held' ? hold.amount : hold.charged;
    }
    return total;
  }
}
