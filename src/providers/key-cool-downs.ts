import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '../core/time/clock';

/** A cool-down is announced again only if it ends at least this much later than announced. */
const NEWS_MS = 1_000;

/** Receives each cool-down that begins in this process, and 0 ms for each one that this process ends. */
export type CoolDownListener = (id: string, forMs: number) => void;

/**
 * The cool-downs of provider instances' keys, as this process knows them. `routing` shares them with other processes.
 */
@Injectable()
export class KeyCoolDowns {
  /** Counts cool-downs that were ended early, here or in another process: states that were read before are obsolete. */
  endings = 0;
  private readonly endsAtMs = new Map<string, number>();
  private listener: CoolDownListener = () => undefined;

  constructor(@Inject(CLOCK) private readonly clock: Clock) {}

  onChange(listener: CoolDownListener): void {
    this.listener = listener;
  }

  /** Milliseconds until the key may be used; 0: now. */
  waitMs(id: string): number {
    return Math.max(0, (this.endsAtMs.get(id) ?? 0) - this.clock.monotonic());
  }

  /**
   * Call this when a provider limits or refuses a key. Calls in flight that fail for the same reason are not announced
   * again.
   */
  begin(id: string, forMs: number): void {
    const knownMs = this.waitMs(id);
    this.learn(id, forMs);
    if (knownMs === 0 || forMs > knownMs + NEWS_MS) this.listener(id, forMs);
  }

  /** Call this when the provider's settings change, because the reason for the cool-down may be gone. */
  end(id: string): void {
    if (this.waitMs(id) === 0) return;
    this.learn(id, 0);
    this.listener(id, 0);
  }

  /** Records a cool-down from another process, or one that is already known; 0 ms: it has ended. */
  learn(id: string, forMs: number): void {
    if (forMs === 0) {
      this.endings++;
      this.endsAtMs.delete(id);
      return;
    }
    const nowMs = this.clock.monotonic();
    for (const [other, endsAtMs] of this.endsAtMs) if (endsAtMs <= nowMs) this.endsAtMs.delete(other);
    this.endsAtMs.set(id, Math.max(this.endsAtMs.get(id) ?? 0, nowMs + forMs));
  }
}
