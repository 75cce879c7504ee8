import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '../core/time/clock';

/** A cool-down that ends this much later is announced again. */
const NEWS_MS = 1_000;

/** Receives cool-downs that began in this process, and with 0 ms those that it has ended. */
export type CoolDownListener = (id: string, forMs: number) => void;

/** How long the keys of provider instances are not to be used, as this process knows it. `routing` shares it. */
@Injectable()
export class KeyCoolDowns {
  /** Cool-downs that were ended early, here or elsewhere: states that were read before are obsolete. */
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

  /** A provider has limited or refused the key. Calls in flight that fail for the same reason are no news. */
  begin(id: string, forMs: number): void {
    const knownMs = this.waitMs(id);
    this.learn(id, forMs);
    if (knownMs === 0 || forMs > knownMs + NEWS_MS) this.listener(id, forMs);
  }

  /** The settings of its provider have changed: the reason may be gone. */
  end(id: string): void {
    if (this.waitMs(id) === 0) return;
    this.learn(id, 0);
    this.listener(id, 0);
  }

  /** Of another process, or known already; 0 ms: it has ended. */
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
